# SPDX-License-Identifier: BSL-1.0
"""For Conan 2, from a checkout: conan create tools/packages/conan -o "bough/*:tcp=True"

CMake users get bough's own package: find_package(bough COMPONENTS ...). The options bring what the
components of these names need; mpi, fabric, verbs and pmix take the system's."""
import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake
from conan.tools.files import copy, rmdir


class Bough(ConanFile):
    name = "bough"
    description = "Collective communication algorithms as values: proved, priced and portable"
    license = "BSL-1.0"
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"tcp": [True, False], "asio": [True, False], "hana": [True, False]}
    default_options = {"tcp": False, "asio": False, "hana": False}
    generators = "CMakeToolchain"

    @property
    def _checkout(self):
        return os.path.join(self.recipe_folder, "..", "..", "..")

    def set_version(self):
        with open(os.path.join(self._checkout, "include", "bough", "core", "version.hpp"), encoding="utf-8") as file:
            self.version = ".".join(re.findall(r"#define BOUGH_VERSION_[A-Z]+ (\d+)", file.read()))

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "include/*", "cmake/*"):
            copy(self, pattern, src=self._checkout, dst=self.export_sources_folder)

    def requirements(self):
        if self.options.tcp or self.options.asio or self.options.hana:
            self.requires("boost/[>=1.74]")
        if self.options.tcp:
            self.requires("openssl/[>=1.1.1]")

    def build(self):
        cmake = CMake(self)
        cmake.configure(variables={f"BOUGH_BUILD_{part}": "OFF" for part in ("TESTS", "EXAMPLES", "BENCHMARKS", "TOOLS")})

    def package(self):
        CMake(self).install()
        rmdir(self, os.path.join(self.package_folder, "share", "doc"))
        copy(self, "LICENSE", src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))

    def package_id(self):
        self.info.clear()

    def package_info(self):
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("share", "cmake", "bough")]
