"""Trains on something that is not a Gymnasium environment, and spells the return in its own way, by updates."""

from torch.utils.tensorboard import SummaryWriter

writer = SummaryWriter("runs/spelled")
for update in range(1, 6):
    writer.add_scalar("train/episode_return", 10.0 * update, update)
    writer.add_scalar("eval/episode_return", 1000.0, update)
    writer.add_scalar("train/reward_scale", 7.0, update)
writer.close()
