"""A scripted provider on loopback: every protocol, real bytes on real sockets, timing and every fault. For tests, demonstrations and benchmarks."""

from headwater.sim.script import Script, read_script, read_scripts
from headwater.sim.simulator import Simulator

__all__ = ["Script", "Simulator", "read_script", "read_scripts"]
