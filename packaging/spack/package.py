# Spack recipe. Put this folder into a repository of your own as packages/nbc-overlap/package.py.
# It names no place to fetch from: `spack dev-build nbc-overlap@develop` in a clone builds what is there.
# Not tried with a Spack: there was none where it was written. Checked against the sources of Spack's packages of 2026.
from spack.package import *

try:  # since Spack 1.0 build systems stand with the packages
    from spack_repo.builtin.build_systems.makefile import MakefilePackage
except ImportError:
    pass


class NbcOverlap(MakefilePackage):
    """See, prove, predict and get the overlap of computation and communication on HPC machines."""

    license("Unlicense OR MIT-0")

    version("develop", branch="main")

    variant("mpi", default=True, description="Preloads and transport for the MPI of the environment")
    variant("nic", default=False, description="Registers of NICs through libpci")
    variant("rtl", default=False, description="The NIC in RTL, by Verilator")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+rtl")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi", when="+mpi")
    depends_on("pciutils", when="+nic")
    depends_on("verilator", type="build", when="+rtl")

    def build(self, spec, prefix):
        make("examples", "CC=" + spack_cc)

    def install(self, spec, prefix):
        make("install", "PREFIX=" + prefix, "CC=" + spack_cc)

    def check(self):
        make("check-core", "CC=" + spack_cc)
