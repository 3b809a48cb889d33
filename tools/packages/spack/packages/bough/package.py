# SPDX-License-Identifier: BSL-1.0
"""From a checkout: spack repo add tools/packages/spack && spack install bough"""
import pathlib

from spack.package import *


class Bough(CMakePackage):
    """Collective communication algorithms as values: proved, priced and portable."""

    git = f"file://{pathlib.Path(__file__).resolve().parents[5]}"
    license("BSL-1.0")

    version("main", branch="main")

    variant("compiled", default=False, description="Also the compiled form, with its pkg-config file")
    variant("tools", default=False, description="The tool bough")
    variant("tcp", default=False, description="What the components tcp and tls need")
    variant("mpi", default=False, description="What the component mpi needs")
    variant("fabric", default=False, description="What the component fabric needs")
    variant("verbs", default=False, description="What the component verbs needs")
    variant("pmix", default=False, description="What the component pmix needs")

    depends_on("cxx", type="build")
    depends_on("cmake@3.23:", type="build")
    depends_on("boost@1.74:", when="+tcp")
    depends_on("openssl@1.1.1:", when="+tcp")
    depends_on("mpi", when="+mpi")
    depends_on("libfabric@1.9:", when="+fabric")
    depends_on("rdma-core", when="+verbs")
    depends_on("pmix", when="+pmix")
    depends_on("cli11", when="+tools")
    depends_on("nlohmann-json", when="+tools")

    conflicts("%gcc@:11")
    conflicts("%clang@:13")

    def cmake_args(self):
        return [
            self.define("BOUGH_BUILD_TESTS", False),
            self.define("BOUGH_BUILD_EXAMPLES", False),
            self.define("BOUGH_BUILD_BENCHMARKS", False),
            self.define_from_variant("BOUGH_BUILD_TOOLS", "tools"),
            self.define_from_variant("BOUGH_INSTALL_COMPILED", "compiled"),
        ]
