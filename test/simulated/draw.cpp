// SPDX-License-Identifier: BSL-1.0
#include "simulated/campaign.hpp"

namespace test {

namespace {

std::uint64_t draw_count(random_bits& random, std::uint32_t words) {
    const std::uint64_t element_bytes = 8 * words;
    switch (random.below(16)) {
    case 0: return 0;
    case 1:
    case 2: return random.below(3 * 1024 / element_bytes + 1);
    case 3: return random.below(4) == 0 ? random.below(20 * 1024 / element_bytes + 1) : 130;
    default: return 1 + random.below(24);
    }
}

simulated_fault draw_fault(random_bits& random, rank_t size, std::uint64_t horizon) {
    simulated_fault f;
    f.at = random.below(horizon);
    f.rank = static_cast<rank_t>(random.below(size));
    f.peer = static_cast<rank_t>((f.rank + 1 + random.below(size - 1)) % size);
    return f;
}

void draw_faults(random_bits& random, history& h) {
    using kind = simulated_fault::kind;
    const std::uint64_t horizon = 6 * h.size * h.operations.size() + 2;
    const auto add = [&](kind what, std::uint64_t value = 0) {
        simulated_fault f = draw_fault(random, h.size, horizon);
        f.what = what;
        f.value = value;
        h.faults.push_back(f);
    };
    switch (random.below(10)) {
    case 0: add(kind::stop), h.may_time_out = true; break;
    case 1: add(kind::slow, 2 + random.below(500)), h.may_time_out = true; break;
    case 2:
        for (std::uint64_t n = 1 + random.below(h.size); n != 0; --n) add(kind::cut, random.below(40'000'000));
        h.may_time_out = true;
        break;
    case 3:
        add(kind::corrupt), h.may_time_out = true;
        h.world.slots = 8; // a message that belongs to nothing stays in its slot: that edge needs another
        break;
    case 4: add(kind::crash), add(kind::crash); break;
    case 5: add(kind::crash), add(kind::cut, random.below(10'000'000)), h.may_time_out = true; break;
    case 6: add(kind::crash), add(kind::stop), h.may_time_out = true; break;
    default: add(kind::crash);
    }
}

} // namespace

history draw_history(std::uint64_t seed, bool faults) {
    random_bits random(seed);
    history h;
    h.seed = random();
    h.size = static_cast<rank_t>(2 + random.below(4) + random.below(4)); // 2 to 8, most often 5
    h.world.seed = random();
    static constexpr std::uint32_t eager[] = {0, 64, 256, 4096};
    static constexpr std::uint32_t slots[] = {1, 2, 8, 8};
    h.world.eager_bytes = eager[random.below(4)];
    h.world.slots = slots[random.below(4)];
    h.world.latency_max_ns = random.below(2) == 0 ? 1'000 : 20'000;
    if (random.below(2) == 0) {
        h.world.refuse = static_cast<std::uint32_t>(random.below(200));
        h.world.spurious = static_cast<std::uint32_t>(random.below(300));
        h.world.straggle = static_cast<std::uint32_t>(random.below(50));
    }
    if (random.below(2) == 0) h.skew_ns = random.below(100'000);
    if (random.below(4) == 0) h.window = 2, h.world.slots = 8; // see doc/simulated.md
    if (random.below(4) == 0) h.two_contexts = true;
    const std::vector<bound_plan>& plans = plans_of(h.size);
    for (std::uint64_t n = 1 + random.below(3); n != 0; --n) {
        operation_setup o;
        o.plan = &plans[static_cast<std::size_t>(random.below(plans.size()))];
        o.affine = o.plan->keeps_order && random.below(2) == 0;
        o.in_place = random.below(2) == 0 || o.plan->kind == collective::broadcast;
        o.count = o.plan->kind == collective::barrier ? 0 : draw_count(random, o.words());
        h.operations.push_back(o);
    }
    if (faults) draw_faults(random, h);
    return h;
}

} // namespace test
