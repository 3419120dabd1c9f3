"""Whether the daemon is there, and how its machine does."""

from mosaic.rpc import trainer_pb2 as pb
from mosaic.web.channels.page_channel import PATIENCE_S, Channel


class MachineChannel(Channel):
    """Told again whenever it was looked at."""

    async def work(self) -> None:
        told: object = None
        version = -1
        while True:
            version = await self.news.state_changed.after(version, at_most_s=PATIENCE_S)
            found = {
                "state": self.news.state,
                "problem": self.news.problem,
                "health": _shown(self.news.health) if self.news.health is not None else None,
            }
            if found != told:
                told = found
                await self.tell(**found)


def _shown(health: pb.Health) -> dict[str, object]:
    return {
        "version": health.version,
        "pid": health.pid,
        "home": health.home,
        "runs": dict(health.runs),
        "cpu": round(health.cpu_percent),
        "slots": [health.cpu_slots_used, health.cpu_slots],
        "memory": [health.memory_used_bytes, health.memory_total_bytes],
        "disk_free": health.disk_free_bytes,
        "gpus": [
            {"name": gpu.name, "percent": round(gpu.percent), "memory": [gpu.memory_used_bytes, gpu.memory_total_bytes]}
            for gpu in health.gpu_loads
        ],
        "warnings": list(health.warnings),
        "indexed": [health.indexed, health.index_total],
    }
