"""A codec for Whoosh, made for reading whole posting lists into arrays.

Whoosh keeps the table of contents, the list of segments and their deletions; its own codec pickles postings in blocks
of 128, which costs most of the time of indexing and of scoring. Here a segment is three files:

.doc   the columns of `schema.DOCUMENT`, one number for each document: one column after the other, the widest numbers
       first, so that each is an array that can be mapped, and nobody reads those that a question does not ask for
.trm   a msgpack header, then for each field arrays over its sorted terms: where the term's text ends, document
       frequency, collection frequency, and where its postings end
.pst   for each term: one byte that names the widths of three arrays (gaps between document numbers; occurrences;
       bytes of positions), the three arrays, and the positions in the byte code of `indexer.postings`

All numbers are little-endian. `segments` reads them, and the table of contents that Whoosh writes, without loading it;
`segment_writing` writes them; `whoosh_codec` is what Whoosh reads and deletes through.
"""
