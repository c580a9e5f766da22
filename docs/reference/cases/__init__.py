"""What goes into the golden vectors; make_vectors.py computes what comes out."""

import hashlib

REFUSED = "refused"


def digest(text: str) -> str:
    """A made-up digest that anyone can make again."""
    return hashlib.sha256(text.encode()).hexdigest()


def all_cases() -> dict[str, list[tuple]]:
    from . import bands, catalog, chain, codec, coded_file, disk, durability, kv_file, model, moqt, moqt_messages, moqt_streams, tracks, value, values, views

    return {
        "vi64": moqt.VI64,
        "track_name": moqt.TRACK_NAME,
        "properties": moqt.PROPERTIES,
        "canonical": values.CANONICAL,
        "file_digest": values.FILE_DIGEST,
        "model": model.MODEL,
        "prefix_chain": chain.PREFIX_CHAIN,
        "track_naming": tracks.TRACK_NAMING,
        "catalog": catalog.CATALOG,
        "kv_file": kv_file.KV_FILE,
        "disk": disk.DISK,
        "durability": durability.DURABILITY_CASES,
        "value": value.VALUE,
        "codec": codec.CODEC,
        "bands": bands.BANDS,
        "coded_file": coded_file.CODED_FILE,
        "views": views.VIEWS,
        "index": views.INDEX,
        "moqt_message": moqt_messages.MESSAGES,
        "moqt_stream": moqt_streams.STREAMS,
        "moqt_datagram": moqt_streams.DATAGRAMS,
    }
