"""What a server's whole process family costs: processor time and proportional memory, from /proc."""

import os
from pathlib import Path
from typing import Final

TICK: Final = 1 / os.sysconf("SC_CLK_TCK")


def list_family(parent: int) -> list[int]:
    """The process and everything descended from it."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _read_stat(int(entry.name))):
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    family = [parent]
    for pid in family:
        family.extend(children.get(pid, ()))
    return family


def _read_stat(pid: int) -> list[str]:
    """The fields of a process after its name, which may hold spaces; none when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def read_processor_seconds(parent: int) -> float:
    """User and system time of the family so far, with that of children already waited for."""
    stats = (_read_stat(pid) for pid in list_family(parent))
    return TICK * sum(int(field) for fields in stats for field in fields[11:15])


def read_proportional_bytes(parent: int) -> int:
    """Memory of the family, shared pages counted in shares."""
    total = 0
    for pid in list_family(parent):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return total
