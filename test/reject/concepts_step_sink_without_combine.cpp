// SPDX-License-Identifier: BSL-1.0
// expect: a StepSink needs `void combine\(slice lower, slice upper, slice out\)`
#include <bough/concepts/explain_step_sink.hpp>

struct my_sink {
    void send(bough::rank_t, bough::slice) {}
    void receive(bough::rank_t, bough::slice) {}
    void copy(bough::slice, bough::slice) {}
};
static_assert(bough::explain_step_sink<my_sink>());

int main() {}
