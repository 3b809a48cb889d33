# SPDX-License-Identifier: BSL-1.0
"""Runs the recipes for Conan and Spack without them: stand_ins.py ROOT CMAKE FOLDER

The few names of theirs that the recipes use stand here; what a recipe copies, configures and installs is
really done. Each recipe's result lies in FOLDER/conan or FOLDER/spack."""
import fnmatch
import importlib.util
import os
import shutil
import subprocess
import sys
import types

root, cmake, folder = (os.path.abspath(argument) for argument in sys.argv[1:])


def module(name, **members):
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(members)


def load(path):
    spec = importlib.util.spec_from_file_location("recipe", path)
    recipe = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    spec.loader.exec_module(recipe)
    return recipe.Bough


def install(source, build, prefix, arguments):
    subprocess.run([cmake, "-S", source, "-B", build, f"-DCMAKE_INSTALL_PREFIX={prefix}", *arguments], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([cmake, "--install", build], check=True, stdout=subprocess.DEVNULL)


# --- Conan ----------------------------------------------------------------------------------------

class Anything:
    """Takes what a recipe tells it."""

    def __getattr__(self, name):
        return lambda *arguments, **named: None


class Options(dict):
    __getattr__ = dict.__getitem__


class ConanFile:
    info, cpp_info = Anything(), Anything()

    def requires(self, what):
        self.required.append(what)


class CMake:
    def __init__(self, recipe):
        self.recipe = recipe

    def configure(self, variables):
        self.recipe.variables = [f"-D{name}={value}" for name, value in variables.items()]

    def install(self):
        install(self.recipe.source_folder, os.path.join(folder, "conan.build"), self.recipe.package_folder, self.recipe.variables)


def copy(recipe, pattern, src, dst):
    for at, _, files in os.walk(src):
        for name in files:
            path = os.path.relpath(os.path.join(at, name), src)
            if fnmatch.fnmatch(path, pattern):
                os.makedirs(os.path.join(dst, os.path.dirname(path)), exist_ok=True)
                shutil.copy(os.path.join(at, name), os.path.join(dst, path))


module("conan", ConanFile=ConanFile)
module("conan.tools")
module("conan.tools.cmake", CMake=CMake)
module("conan.tools.files", copy=copy, rmdir=lambda recipe, path: shutil.rmtree(path, ignore_errors=True))
Recipe = load(os.path.join(root, "tools/packages/conan/conanfile.py"))
recipe = Recipe()
recipe.recipe_folder = os.path.join(root, "tools/packages/conan")
recipe.source_folder = recipe.export_sources_folder = os.path.join(folder, "conan.source")
recipe.package_folder = os.path.join(folder, "conan")
recipe.required = []
recipe.options = Options(recipe.default_options)
recipe.set_version()
recipe.export_sources()
recipe.requirements()
assert recipe.required == [], recipe.required
recipe.options["tcp"] = True
recipe.requirements()
assert len(recipe.required) == 2, recipe.required
recipe.build()
recipe.package()
recipe.package_id()
recipe.package_info()
assert os.path.exists(os.path.join(folder, "conan/licenses/LICENSE"))
print(recipe.version)

# --- Spack ----------------------------------------------------------------------------------------

variants = {}


def directive(*arguments, **named):
    pass


def variant(name, default, description):
    variants[name] = default


class CMakePackage:
    def define(self, name, value):
        return f"-D{name}:BOOL={'ON' if value else 'OFF'}"

    def define_from_variant(self, name, chosen):
        return self.define(name, variants[chosen])


module("spack")
module("spack.package", CMakePackage=CMakePackage, variant=variant, version=directive, depends_on=directive, conflicts=directive,
       license=directive)
Recipe = load(os.path.join(root, "tools/packages/spack/packages/bough/package.py"))
assert os.path.samefile(Recipe.git.removeprefix("file://"), root), Recipe.git
install(root, os.path.join(folder, "spack.build"), os.path.join(folder, "spack"), Recipe().cmake_args())
