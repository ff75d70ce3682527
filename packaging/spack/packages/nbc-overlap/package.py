# Spack recipe. packaging/spack is a repository for Spack; in a clone of nbc_overlap:
#   spack repo add packaging/spack
#   spack dev-build nbc-overlap@develop      # builds what is there
#   spack install nbc-overlap@develop        # builds a checkout of the clone's main
import os

from spack.package import *

try:  # since Spack 1.0 build systems stand with the packages
    from spack_repo.builtin.build_systems.makefile import MakefilePackage
except ImportError:
    pass


class NbcOverlap(MakefilePackage):
    """See, prove, predict and get the overlap of computation and communication on HPC machines."""

    git = "file://" + os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 4))  # the clone

    license("Unlicense OR MIT-0")

    version("develop", branch="main")

    variant("mpi", default=True, description="Preloads and commands for the MPI of the environment; with MPICH, pm_run runs MPI programs")
    variant("nic", default=False, description="Registers of NICs through libpci")
    variant("rtl", default=False, description="The NIC in RTL, by Verilator: a level more for pm_run")
    variant("otf2", default=False, description="Timelines in OTF2")
    variant("simgrid", default=False, description="Platforms of SimGrid are read")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+rtl")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi", when="+mpi")
    depends_on("pciutils", when="+nic")
    depends_on("verilator", type=("build", "link"), when="+rtl")
    depends_on("zlib-api", when="+rtl")
    depends_on("otf2", when="+otf2")
    depends_on("expat", when="+simgrid")

    def settings(self):
        """Each says what is to be used, also if it is nothing: no package may get what the machine happens to have."""
        mpicc = oshcc = ""
        if self.spec.satisfies("+mpi"):
            mpicc = self.spec["mpi"].mpicc
            oshcc = join_path(os.path.dirname(mpicc), "oshcc")
        return [
            "CC=" + spack_cc,
            "PREFIX=" + self.prefix,
            "MPICC=" + mpicc,
            "OSHCC=" + (oshcc if os.path.exists(oshcc) else ""),
            "VERILATOR=" + (self.spec["verilator"].prefix.bin.verilator if self.spec.satisfies("+rtl") else ""),
        ] + [
            "HAVE_{0}={1}".format(name, "yes" if self.spec.satisfies("+" + variant) else "")
            for name, variant in (("LIBPCI", "nic"), ("OTF2", "otf2"), ("EXPAT", "simgrid"))
        ]

    def build(self, spec, prefix):
        make("examples", *self.settings())

    def install(self, spec, prefix):
        make("install", *self.settings())

    def check(self):
        make("check-core", *self.settings())

    @run_after("install")
    def keep_an_example(self):
        cache_extra_test_sources(self, "examples/01_see_overlap.c")

    def test_program(self):
        """a program that includes what is installed sees overlap"""
        folder = self.test_suite.current_test_cache_dir.examples
        cc = which("cc", "gcc", "clang", required=True)
        cc("-D_GNU_SOURCE", "-I" + self.prefix.include, join_path(folder, "01_see_overlap.c"), "-o", "see", "-pthread", "-lm")
        assert "hidden" in which("./see", required=True)(output=str.split)

    def test_commands(self):
        """a simulated transfer has its bounds"""
        assert "exact" in which(self.prefix.bin.overlap_pingpong, required=True)(output=str.split)
