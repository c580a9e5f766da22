#!/usr/bin/env python3
"""The tokenizer of model/tokenizer.json a second time, as plainly as it can be said.

The C++ tokenizer splits words by hand and merges with a heap; this one hands the very pattern to
Python's `re` and merges by looking for the best pair again after every merge. Where both agree on
the recorded cases, a slip would have to be made twice in two different ways.

    reference_tokenizer.py --record    write tokenizer_cases.json anew
    reference_tokenizer.py --check     tell whether it would be written the same (what ctest runs)
    reference_tokenizer.py --encode    token ids of the text on standard input
"""
import argparse
import json
import pathlib
import random
import re
import sys
import unicodedata

HERE = pathlib.Path(__file__).resolve().parent
CASES = HERE / "tokenizer_cases.json"

# GPT-2's pattern. L, N and S stand for \p{L}, \p{N} and \s, which `re` lacks or sees otherwise:
# its \s takes U+001C to U+001F for white space, and Unicode does not.
PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?[L]+| ?[N]+| ?[^SLN]+|[S]+(?![^S])|[S]+"


def ranges(belongs):
    """The code points for which `belongs` holds, as the inside of a character class."""
    out, first = [], None
    for code in range(0x110001):
        inside = code < 0x110000 and belongs(code)
        if inside and first is None:
            first = code
        elif not inside and first is not None:
            out.append(f"\\U{first:08x}-\\U{code - 1:08x}")
            first = None
    return "".join(out)


def word_pattern():
    category = [unicodedata.category(chr(code)) for code in range(0x110000)]
    classes = {
        "L": ranges(lambda code: category[code][0] == "L"),
        "N": ranges(lambda code: category[code][0] == "N"),
        "S": ranges(lambda code: category[code][0] == "Z" or 9 <= code <= 13 or code == 0x85),
    }
    return re.compile(re.sub("[LNS]", lambda found: classes[found.group()], PATTERN))


def byte_letters():
    """The letter by which the vocabulary writes each byte: itself if it is printable Latin-1."""
    letters, spare = {}, 256
    for byte in range(256):
        if 33 <= byte <= 126 or 161 <= byte <= 172 or 174 <= byte <= 255:
            letters[byte] = chr(byte)
        else:
            letters[byte] = chr(spare)
            spare += 1
    return letters


class Tokenizer:
    def __init__(self, path):
        described = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        self.ids = described["model"]["vocab"]
        self.ranks = {tuple(pair): rank for rank, pair in enumerate(described["model"]["merges"])}
        self.special = {token["content"]: token["id"] for token in described["added_tokens"]}
        self.letters = byte_letters()
        self.words = word_pattern()
        longest_first = sorted(self.special, key=len, reverse=True)
        self.special_pattern = re.compile("(" + "|".join(map(re.escape, longest_first)) + ")")

    def encode(self, text):
        ids = []
        for part in self.special_pattern.split(text):
            if part in self.special:
                ids.append(self.special[part])
                continue
            for word in self.words.findall(part):
                ids += self.encode_word(word)
        return ids

    def encode_word(self, word):
        symbols = [self.letters[byte] for byte in word.encode("utf-8")]
        while True:
            ranked = [(self.ranks[pair], at) for at, pair in enumerate(zip(symbols, symbols[1:]))
                      if pair in self.ranks]
            if not ranked:
                return [self.ids[symbol] for symbol in symbols]
            _, at = min(ranked)
            symbols[at:at + 2] = [symbols[at] + symbols[at + 1]]


TEXTS = {
    "nothing": "",
    "one letter": "a",
    "one space": " ",
    "English": "The node keeps what it was given, and forgets what nobody asks for.",
    "a long word": "Internationalization of antidisestablishmentarianism",
    "contractions": "It's what we've got: they're done, I'm here, you'll see, she'd say, don't.",
    "contractions in capitals are not split": "IT'S DON'T WE'LL THEY'RE",
    "contractions need no letter in front": "'s 't 're 've 'm 'll 'd 'x 'sunny ''s  's",
    "a typographic apostrophe is no contraction": "it\u2019s we\u2019ve",
    "C++": "template <typename T>\nstd::optional<T> Find(const Key& key) {\n  return {};\n}\n",
    "Python": "def read(path: str) -> bytes:\n    with open(path, 'rb') as f:\n"
              "        return f.read()  # all of it\n",
    "JSON": '{"layers": 6, "names": ["k", "v"], "eps": 1e-05, "nested": {"null": null}}',
    "shell": "$ tinylm tokenize --file prompt.txt | wc -w\n",
    "Markdown": "# Title\n\n- one\n- *two*\n  - `three`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
    "digits": "0 1 12 123 1234567890 3.14159 0x1F 1,000,000 2024-02-29T23:59:60Z",
    "numbers of other scripts":
        "\u0661\u0662\u0663 \u0967\u0968 \u2167 \u00bd \u00b2 \u2460 \u4e00",
    "letters next to digits": "abc123def x86_64 sha256 v1.2b3",
    "punctuation": "!?... --- \"quoted\" (a) [b] {c} <d> a/b\\c @#$%^&*~`|+=_",
    "German": "Der Pr\u00e4fix f\u00fcr \u00dcbergr\u00f6\u00dfentr\u00e4ger hei\u00dft anders.",
    "French": "\u00ab L\u2019\u00e9t\u00e9 \u00bb : o\u00f9 \u00e7a ?",
    "Greek": "\u039a\u03b1\u03bb\u03b7\u03bc\u03ad\u03c1\u03b1 \u03ba\u03cc\u03c3\u03bc\u03b5",
    "Russian": "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440! \u0401\u0436",
    "Arabic": "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645\u060c "
              "\u0643\u0650\u062a\u064e\u0627\u0628",
    "Hebrew with points": "\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd \u05e2\u05d5\u05dc\u05dd",
    "Hindi": "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e",
    "Thai": "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e0a\u0e32\u0e27\u0e42\u0e25\u0e01",
    "Chinese": "\u4f60\u597d\uff0c\u4e16\u754c\u3002\u3000\u7f13\u5b58",
    "Japanese": "\u3053\u3093\u306b\u3061\u306f\u4e16\u754c\u3001\u30ad\u30e3\u30c3\u30b7\u30e5",
    "Korean": "\uc548\ub155\ud558\uc138\uc694 \uc138\uacc4",
    "letters beyond the first plane":
        "\U00010330\U00010331 \U0001d400\U0001d7d8 \U00020000\U0002a6df",
    "emoji": "ok \U0001f600\U0001f680 \U0001f468\u200d\U0001f469\u200d\U0001f467"
             " \U0001f1e9\U0001f1ea \u2764\ufe0f \U0001f44d\U0001f3fd",
    "combining marks are neither letters nor numbers":
        "e\u0301a\u0308 n\u0303o \u0301x z\u0335\u0336",
    "a no-break space is white space, but not the space of a word":
        "a\u00a0b \u00a0c\u00a0 d \u00a0",
    "every white space there is": "".join(
        f"a{chr(c)}b" for c in [9, 10, 11, 12, 13, 0x85, 0xa0, 0x1680, *range(0x2000, 0x200b),
                                0x2028, 0x2029, 0x202f, 0x205f, 0x3000]),
    "what looks like white space and is none": "a\u001cb\u001fc\u180ed\u200be\u2060f\ufeffg",
    "a space before white space stays alone, before anything else it does not":
        " \u0085 \u2028 \u3000 \u001c \u180e \u200b \ufeff \u0301"
        " \u0967 \u216b \u01c5 \u02b0 \u05d0",
    "control characters": "\u0000\u0001a\u0008b\u007f\u0080\u009f",
    "runs of spaces": "a  b   c    d        e",
    "spaces at the ends": "   both ends   ",
    "newlines": "\n\n\nthree before\n\ntwo between\none\r\nDOS\r\n\r\n",
    "spaces and newlines mixed": "if x:\n\n    y  \n\t\tz \t w\n \n  \n",
    "tabs": "\tone\t\ttwo\t three \tfour",
    "white space before punctuation": "a  ,  b \n . c\u00a0! d  'x",
    "special tokens": "<s>one</s><s>two</s>",
    "special tokens end words and white space": "one  <s>  two \n</s>\n three' <s>s <s >< s></ s>",
    "a special token in parts": "<<s>> < s> <s</s>/s> <S>",
    "a byte letter is text": "\u0120\u010a\u0100\u0143 \u00ad",
    "private use and unassigned": "\ue000\uf8ff \U000f0000\U0010ffff \u0378 \ufffe",
    "the edges of UTF-8's lengths": "\u007f\u0080\u07ff\u0800\uffff\U00010000\U0010ffff",
    "a run that repeats": "ababababab" * 12 + "=" * 77 + " " * 33 + "\n" * 9,
}


def random_texts():
    """Characters of every kind side by side, as no writer would put them."""
    pool = [*"  \n\t'smtdrelv<>/s12aeintoA.,:_(){}=-", "\u00a0", "\u2003", "\u0301", "\u00e9",
            "\u00bd", "\u0416", "\u4e16", "\u0967", "\U0001f600", "\U0001d7d8", "<s>", "</s>",
            "'ll", " the", "\r\n"]
    dice = random.Random(4096)
    for number in range(24):
        yield f"random {number}", "".join(pool[int(dice.random() * len(pool))] for _ in range(60))


def recorded(tokenizer):
    """Per text its words, as if it held no special token, and its ids."""
    cases = [{"name": name, "text": text, "words": tokenizer.words.findall(text),
              "ids": tokenizer.encode(text)}
             for name, text in [*TEXTS.items(), *random_texts()]]
    return "[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    act = parser.add_mutually_exclusive_group(required=True)
    act.add_argument("--record", action="store_true", help="write tokenizer_cases.json anew")
    act.add_argument("--check", action="store_true", help="fail if it would be written differently")
    act.add_argument("--encode", action="store_true", help="ids of the text on standard input")
    parser.add_argument("--tokenizer", default=HERE / "model" / "tokenizer.json")
    chosen = parser.parse_args()
    tokenizer = Tokenizer(chosen.tokenizer)
    if chosen.encode:
        text = sys.stdin.buffer.read().decode("utf-8")
        print(*tokenizer.encode(text))
    elif chosen.record:
        CASES.write_text(recorded(tokenizer), encoding="utf-8")
    elif CASES.read_text(encoding="utf-8") != recorded(tokenizer):
        sys.exit(f"{CASES.name} is not what the reference makes of its texts; see --record.")


if __name__ == "__main__":
    main()
