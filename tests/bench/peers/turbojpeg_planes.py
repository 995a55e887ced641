#!/usr/bin/python3
"""turbojpeg_planes.py INPUT OUTPUT: decodes every JPEG below a folder to planes, with TurboJPEG.

What checking that JPEGs decode costs at least; OUTPUT is not used.
"""
import ctypes
import os
import sys

LIBRARY = "libturbojpeg.so.0"


class Decoder:
    def __init__(self):
        self.library = ctypes.CDLL(LIBRARY)
        self.library.tjInitDecompress.restype = ctypes.c_void_p
        self.library.tjBufSizeYUV2.restype = ctypes.c_ulong
        self.handle = ctypes.c_void_p(self.library.tjInitDecompress())
        self.planes = ctypes.create_string_buffer(1)

    def decode(self, jpeg):
        width, height, subsampling, space = (ctypes.c_int() for _ in range(4))
        size = ctypes.c_ulong(len(jpeg))
        if self.library.tjDecompressHeader3(
                self.handle, jpeg, size, ctypes.byref(width), ctypes.byref(height),
                ctypes.byref(subsampling), ctypes.byref(space)) != 0:
            raise ValueError("no JPEG")
        wanted = self.library.tjBufSizeYUV2(width, 1, height, subsampling)
        if wanted > len(self.planes):
            self.planes = ctypes.create_string_buffer(wanted)
        self.library.tjDecompressToYUV2(self.handle, jpeg, size, self.planes, width, 1, height, 0)


def main():
    decoder = Decoder()
    for folder, _, names in os.walk(sys.argv[1]):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                decoder.decode(file.read())


if __name__ == "__main__":
    main()
