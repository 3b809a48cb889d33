# SPDX-License-Identifier: BSL-1.0
# From a checkout: nix-build tools/packages/nix
{ pkgs ? import <nixpkgs> { } }:
let
  source = ../../..;
  numbers = builtins.match ".*BOUGH_VERSION_MAJOR ([0-9]+).*BOUGH_VERSION_MINOR ([0-9]+).*BOUGH_VERSION_PATCH ([0-9]+).*"
    (builtins.readFile (source + "/include/bough/core/version.hpp"));
in
pkgs.stdenv.mkDerivation {
  pname = "bough";
  version = builtins.concatStringsSep "." numbers;
  src = pkgs.lib.cleanSource source;
  nativeBuildInputs = [ pkgs.cmake pkgs.ninja ];
  cmakeFlags = [
    "-DBOUGH_BUILD_TESTS=OFF"
    "-DBOUGH_BUILD_EXAMPLES=OFF"
    "-DBOUGH_BUILD_BENCHMARKS=OFF"
    "-DBOUGH_BUILD_TOOLS=OFF"
  ];
  meta = {
    description = "Collective communication algorithms as values: proved, priced and portable";
    license = pkgs.lib.licenses.boost;
    platforms = pkgs.lib.platforms.unix;
  };
}
