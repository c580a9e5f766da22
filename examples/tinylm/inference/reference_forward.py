#!/usr/bin/env python3
"""The model a second time, in torch: what forward_test.cc compares with.

  reference_forward.py          compare forward_cases.json with what torch computes now
  reference_forward.py --record write it anew

Needs Debian's python3-torch, which neither the build nor the tests do.
"""
import argparse
import json
import pathlib
import sys

import torch

HERE = pathlib.Path(__file__).resolve().parent
CASES = HERE / "forward_cases.json"
TOLERANCE = 2e-3  # Between two builds of torch.
TOP = 5
OTHERS = [0, 1, 100, 1000, 4095]  # Tokens whose logits are recorded whatever they are.

# Name, the prompt's text or file of token ids, and the positions to look at.
PROMPTS = [
    ("documentation", "The cache keeps a copy of every block that was read in the last hour. "
     "When memory runs short, the oldest blocks are dropped first, and", [0, 1, 7, 20, -1]),
    ("code", "def read_block(path, offset, length):\n    with open(path, 'rb') as file:\n"
     "        file.seek(offset)\n        data = file.read(length)\n    if len(data) < length:\n",
     [3, 16, 31, -1]),
    ("long", pathlib.Path("prompts/shared-prefix-a.tokens"),
     [127, 128, 500, 1000, 2047, 3000, -1]),
]


class Model:
    def __init__(self, folder: pathlib.Path):
        self.config = json.loads((folder / "config.json").read_text())
        raw = (folder / "model.safetensors").read_bytes()
        start = 8 + int.from_bytes(raw[:8], "little")
        self.weights = {}
        for name, tensor in json.loads(raw[8:start]).items():
            if name != "__metadata__":
                begin, end = tensor["data_offsets"]
                values = torch.frombuffer(bytearray(raw[start + begin:start + end]),
                                          dtype=torch.bfloat16)
                self.weights[name] = values.reshape(tensor["shape"]).float()

    def weight(self, *path) -> torch.Tensor:
        return self.weights[".".join(["model", *map(str, path), "weight"])]

    def norm(self, rows: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        mean = rows.square().mean(dim=-1, keepdim=True)
        return rows / torch.sqrt(mean + self.config["rms_norm_eps"]) * weight

    def heads(self, rows: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        """[head, row, value]"""
        return (rows @ weight.T).unflatten(1, (-1, self.config["head_dim"])).transpose(0, 1)

    def turned(self, heads: torch.Tensor) -> torch.Tensor:
        """RoPE on rotated halves, from position 0 on."""
        half = self.config["head_dim"] // 2
        steps = torch.arange(half, dtype=torch.float32) / half
        frequencies = 1 / self.config["rope_theta"] ** steps
        angles = torch.arange(heads.shape[1], dtype=torch.float32)[:, None] * frequencies
        first, second = heads[..., :half], heads[..., half:]
        return torch.cat([first * angles.cos() - second * angles.sin(),
                          second * angles.cos() + first * angles.sin()], dim=-1)

    def attend(self, rows: torch.Tensor, layer: int) -> torch.Tensor:
        part = lambda name: self.weight("layers", layer, "self_attn", name)
        query = self.turned(self.heads(rows, part("q_proj")))
        # The cache is BF16, and attention reads the cache.
        key = self.turned(self.heads(rows, part("k_proj"))).bfloat16().float()
        value = self.heads(rows, part("v_proj")).bfloat16().float()
        out = []
        for head, one in enumerate(query):
            shared = head * len(key) // len(query)
            scores = one @ key[shared].T / self.config["head_dim"] ** 0.5
            future = torch.ones_like(scores, dtype=torch.bool).triu(1)
            out.append(scores.masked_fill(future, -torch.inf).softmax(dim=-1) @ value[shared])
        return torch.cat(out, dim=-1) @ part("o_proj").T

    def feed_forward(self, rows: torch.Tensor, layer: int) -> torch.Tensor:
        gate, up, down = (self.weight("layers", layer, "mlp", name)
                          for name in ["gate_proj", "up_proj", "down_proj"])
        return (torch.nn.functional.silu(rows @ gate.T) * (rows @ up.T)) @ down.T

    @torch.no_grad()
    def logits(self, ids: list[int]) -> torch.Tensor:
        embedding = self.weight("embed_tokens")
        rows = embedding[torch.tensor(ids)]
        for layer in range(self.config["num_hidden_layers"]):
            norms = [self.weight("layers", layer, name)
                     for name in ["input_layernorm", "post_attention_layernorm"]]
            rows = rows + self.attend(self.norm(rows, norms[0]), layer)
            rows = rows + self.feed_forward(self.norm(rows, norms[1]), layer)
        return self.norm(rows, self.weight("norm")) @ embedding.T


def ids_of(prompt: str | pathlib.Path) -> list[int]:
    if isinstance(prompt, pathlib.Path):
        return [int(word) for word in (HERE.parent / prompt).read_text().split()]
    sys.path.insert(0, str(HERE.parent))
    import reference_tokenizer
    tokenizer = reference_tokenizer.Tokenizer(HERE.parent / "model" / "tokenizer.json")
    return [0, *tokenizer.encode(prompt)]


def case(model: Model, name: str, prompt: str | pathlib.Path, positions: list[int]) -> dict:
    ids = ids_of(prompt)
    logits = model.logits(ids)
    rows = []
    for position in positions:
        row = logits[position]
        chosen = [*row.topk(TOP).indices.tolist(), *OTHERS]
        rows.append({"position": position % len(ids),
                     "logits": [[token, round(row[token].item(), 4)] for token in chosen]})
    source = {"file": str(prompt)} if isinstance(prompt, pathlib.Path) else {"ids": ids}
    return {"name": name, **source, "rows": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true")
    model = Model(HERE.parent / "model")
    cases = [case(model, *prompt) for prompt in PROMPTS]
    if parser.parse_args().record:
        lines = ",\n".join(json.dumps(case) for case in cases)
        CASES.write_text(f"[\n{lines}\n]\n")
        return
    for now, recorded in zip(cases, json.loads(CASES.read_text()), strict=True):
        for row, before in zip(now["rows"], recorded["rows"], strict=True):
            logits = dict(map(tuple, row["logits"]))
            assert row["position"] == before["position"], row
            assert all(abs(logits[token] - logit) < TOLERANCE
                       for token, logit in before["logits"] if token in logits), row


if __name__ == "__main__":
    main()
