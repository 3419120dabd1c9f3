"""Writes where it should not; the place comes from its flags."""

import argparse
import os
import subprocess

import gymnasium as gym
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--target")
parser.add_argument("--how")
args = parser.parse_args()
open("mine.txt", "w").write("allowed")
if args.how == "torch":
    torch.save({}, os.path.join(args.target, "model.pt"))
elif args.how == "shell":
    subprocess.run(f"touch {args.target}/touched", shell=True, check=True)
elif args.how == "record":
    open("../events.jsonl", "w")
else:
    open(os.path.join(args.target, "file.txt"), "w")
