import heapq


def assign_layers(sizes, n_shards):
    heap = [(0, shard) for shard in range(n_shards)]
    homes = {}
    for size, layer in sorted(((size, layer) for layer, size in enumerate(sizes)), reverse=True):
        load, shard = heapq.heappop(heap)
        homes[layer] = shard
        heapq.heappush(heap, (load + size, shard))
    return [homes[layer] for layer in range(len(sizes))]
