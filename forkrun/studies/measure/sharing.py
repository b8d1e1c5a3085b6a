"""The arithmetic of sharing: memory of forked children, and of as many separate processes."""

from __future__ import annotations

from msgspec import Struct


class Mix(Struct, frozen=True):
    """Memory [bytes] of a job: the part of each process that forked children can share, the private
    part, and file pages (libraries), which separate processes share, too."""

    shared_bytes: float
    private_bytes: float
    files_bytes: float = 0.0

    def separate_bytes(self, n_processes: int) -> float:
        """Memory of `n_processes` separate processes."""
        return n_processes * (self.shared_bytes + self.private_bytes) + self.files_bytes

    def forked_bytes(self, n_children: int) -> float:
        """Memory of children that share everything shareable."""
        return self.shared_bytes + n_children * self.private_bytes + self.files_bytes

    def ideal_saving(self, n_children: int) -> float:
        """The largest possible saving, as a fraction of the memory of separate processes. Without
        file pages it is (N - 1) shared / (N (shared + private))."""
        return saving(self.forked_bytes(n_children), self.separate_bytes(n_children))


def saving(forked_bytes: float, separate_bytes: float) -> float:
    """Fraction saved by forking."""
    return 1.0 - forked_bytes / separate_bytes if separate_bytes > 0 else 0.0
