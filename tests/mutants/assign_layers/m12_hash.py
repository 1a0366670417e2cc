# class: B9
# hint: too-full
import zlib


def assign_layers(sizes, n_shards):
    return [zlib.crc32(f"layer{k}".encode()) % n_shards for k in range(len(sizes))]
