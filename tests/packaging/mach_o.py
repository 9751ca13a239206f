# SPDX-License-Identifier: MIT
"""What can be read off a program for macOS where there is none: the system, the libraries it wants, and whether its signature is
that of its bytes. Apple's own processors kill a program without one."""
import hashlib
import struct

MAGIC, PIE, STACK_IS_CODE = 0xFEEDFACF, 0x200000, 0x20000  # a header of 64 bits, and two of its flags
LOAD_DYLIB, CODE_SIGNATURE, BUILD_VERSION = 0xC, 0x1D, 0x32  # load commands
SIGNATURES, DIRECTORY, SHA256 = 0xFADE0CC0, 0xFADE0C02, 2  # magics and a kind of hash in a signature, which is big-endian


class Program:
    def __init__(self, data):
        self.data = data
        self.magic, self.processor, self.flags = struct.unpack_from("<II16xI", data)
        self.libraries, self.signature, self.oldest = [], None, None
        (count,) = struct.unpack_from("<16xI", data)
        at = 32
        for _ in range(count):
            command, size = struct.unpack_from("<II", data, at)
            if command == LOAD_DYLIB:
                (name,) = struct.unpack_from("<I", data, at + 8)
                self.libraries.append(data[at + name : at + size].rstrip(b"\0").decode())
            elif command == CODE_SIGNATURE:
                start, length = struct.unpack_from("<II", data, at + 8)
                self.signature = data[start : start + length]
            elif command == BUILD_VERSION:
                (version,) = struct.unpack_from("<I", data, at + 12)
                self.oldest = (version >> 16, version >> 8 & 0xFF)
            at += size

    def is_signed(self):
        """Every page has the hash that the signature says, up to the signature itself."""
        if self.signature is None:
            return False
        magic, _, count = struct.unpack_from(">III", self.signature)
        assert magic == SIGNATURES
        offsets = [struct.unpack_from(">II", self.signature, 12 + 8 * i)[1] for i in range(count)]
        (directory,) = (self.signature[at:] for at in offsets if struct.unpack_from(">I", self.signature, at)[0] == DIRECTORY)
        hashes, pages, limit, size, kind, page = struct.unpack_from(">16xI8xIIBBxB", directory)
        assert (size, kind) == (32, SHA256)
        assert self.data[limit:].startswith(self.signature[:12]), "bytes that no hash is of"
        ends = [min(limit, (i + 1) << page) for i in range(pages)]
        assert ends[-1] == limit
        return all(hashlib.sha256(self.data[i << page : end]).digest() == directory[hashes + size * i : hashes + size * (i + 1)]
                   for i, end in enumerate(ends))
