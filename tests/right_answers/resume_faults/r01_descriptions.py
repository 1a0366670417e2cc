def resume_faults(saved, restored):
    def described(state):
        return {name: (a.dtype.str, a.shape, a.tobytes()) for name, a in state.items()}

    before, after = described(saved), described(restored)
    return sorted(name for name in before | after if before.get(name) != after.get(name))
