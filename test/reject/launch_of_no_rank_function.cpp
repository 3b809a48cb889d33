// SPDX-License-Identifier: BSL-1.0
// expect: (no matching function for call to|no matching function).*launch
#include <bough/launch.hpp>

int main() {
    bough::launch(2, [](int) {}); // takes a job
}
