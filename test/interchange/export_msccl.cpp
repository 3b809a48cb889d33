// SPDX-License-Identifier: BSL-1.0
// MSCCL's words, there and back: proved with the same traits; mutants are refused on their line.
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/packed.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/circulant.hpp>
#include <bough/algorithm/halving_doubling.hpp>
#include <bough/algorithm/lowest_bit_first.hpp>
#include <bough/algorithm/packed_trees.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/interchange/export_msccl.hpp>
#include <bough/interchange/import_msccl.hpp>
#include <bough/schedule/any_algorithm.hpp>
#include <bough/tree/binomial.hpp>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

using namespace bough;

namespace {

// As a reader of the file would have it; lines count steps.
template <Plan P>
msccl_algorithm words_of(const P& plan) {
    msccl_algorithm a;
    a.kind = decltype(plan.goal())::kind;
    a.size = plan.size();
    a.chunks = a.kind == goal::alltoall::kind ? plan.size() : plan.blocks();
    a.in_place = decltype(plan.goal())::in_place;
    std::size_t line = 1;
    for (rank_t r = 0; r != plan.size(); ++r) {
        REQUIRE(msccl_gpu_of(plan, r, a.gpus.emplace_back()).empty());
        for (msccl_block& tb : a.gpus.back().blocks)
            for (msccl_step& s : tb.steps) s.line = ++line;
    }
    return a;
}

import_fault judge(const msccl_algorithm& a, verdict* proof = nullptr) {
    imported_schedules made;
    if (const import_fault bad = schedules_of(a, made); !bad.none()) return bad;
    const verdict v = prove(a, made);
    if (proof != nullptr) *proof = v;
    return made.fault_of(v);
}

template <Plan P>
void there_and_back(const P& plan) {
    verdict back;
    const import_fault fault = judge(words_of(plan), &back);
    INFO(to_string(fault));
    REQUIRE(fault.none());
    const verdict here = verify(plan);
    REQUIRE(here);
    CHECK(back.traits.messages >= here.traits.messages); // a message in parts is several
    CHECK(back.traits.volume == here.traits.volume);
    CHECK(back.traits.volume_max == here.traits.volume_max);
    CHECK(back.traits.combines == here.traits.combines);
    CHECK(back.traits.depth == here.traits.depth);
    CHECK(back.traits.hops == here.traits.hops);
}

} // namespace

TEST_CASE("MSCCL XML of a plan, as kept in golden/") {
    const std::string path = bough_test::golden_path("export_allreduce_ring_of_3.xml");
    std::ostringstream out;
    CHECK(export_msccl(out, plan_allreduce(ring{}, {.size = 3}), {.name = "ring <3>"}).empty());
    if (const char* regold = std::getenv("BOUGH_REGOLD"); regold != nullptr && *regold == '1')
        std::ofstream(path, std::ios::binary) << out.str();
    std::ifstream file(path, std::ios::binary);
    const std::string kept{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    CHECK(out.str() == kept);
}

TEST_CASE("MSCCL there and back: the same proof") {
    for (const rank_t p : {1u, 2u, 3u, 5u, 7u, 8u, 13u}) {
        CAPTURE(p);
        there_and_back(plan_allreduce(ring{}, {.size = p}));
        there_and_back(plan_allreduce(recursive_doubling{}, {.size = p}));
        there_and_back(plan_allreduce(halving_doubling{}, {.size = p}));
        there_and_back(plan_allgather(ring{}, {.size = p}));
        there_and_back(plan_allgather(circulant{}, {.size = p}));
        there_and_back(plan_reduce_scatter(ring{}, {.size = p}));
        for (const block_t limit : {0u, 1u, 4u}) {
            there_and_back(plan_reduce_scatter(lowest_bit_first{.aggregation_limit = limit}, {.size = p}));
            there_and_back(plan_allgather(lowest_bit_first{.aggregation_limit = limit}, {.size = p}));
        }
        there_and_back(plan_reduce_scatter(circulant{}, {.size = p}));
        const dimensions pieces{.size = p, .blocks = 3 * p};
        there_and_back(plan_allgather(packed_trees_allgather{test::packed_from_all(p)}, pieces));
        there_and_back(plan_reduce_scatter(packed_trees_reduce_scatter{test::packed_from_all(p)}, pieces));
    }
}

TEST_CASE("what the format cannot say is refused with a sentence") {
    std::ostringstream out;
    CHECK(export_msccl(out, plan_reduce(binomial{}, {.size = 3}))
              .starts_with("MSCCL XML: there is no reduce; it has allreduce"));
    CHECK(export_msccl(out, plan_allreduce(recursive_doubling{}, {.size = 2, .blocks = 40'000}))
              .find("at most 32767 blocks") != std::string::npos);
    CHECK(export_msccl(out, plan_allreduce(ring{}, {.size = 9}), {.most_steps = 4}).find("more than 4 steps") !=
          std::string::npos);
}

TEST_CASE("damaged files are refused, and the fault is on a line of the GPU concerned or its peer") {
    const msccl_algorithm good = words_of(plan_allreduce(ring{}, {.size = 5}));
    REQUIRE(judge(good).none());
    std::size_t mutants = 0, races = 0;
    for (std::size_t r = 0; r != good.gpus.size(); ++r)
        for (std::size_t t = 0; t != good.gpus[r].blocks.size(); ++t)
            for (std::size_t i = 0; i != good.gpus[r].blocks[t].steps.size(); ++i)
                for (int how = 0; how != 5; ++how) {
                    msccl_algorithm bad = good;
                    msccl_step& s = bad.gpus[r].blocks[t].steps[i];
                    if (how == 0)
                        s.what = s.what == msccl_verb::send ? msccl_verb::nothing : msccl_verb::send; // another verb
                    if (how == 1) ++s.count;
                    if (how == 2)
                        s.source.offset = (s.source.offset + 1) % 5, s.target.offset = (s.target.offset + 1) % 5;
                    if (how == 3) s.dep_block = s.dep_step = -1;
                    if (how == 4) s.has_dep = false;
                    if (s == good.gpus[r].blocks[t].steps[i]) continue;
                    CAPTURE(r, t, i, how);
                    const import_fault f = judge(bad);
                    if (how == 3) { // others may say the same
                        races += f.sentence.find("race") == 0;
                        continue;
                    }
                    CHECK_FALSE(f.none());
                    CHECK(f.line != 0);
                    if (how == 4) CHECK(f.sentence.find("hasdep is 0") != std::string::npos);
                    ++mutants;
                }
    CHECK(mutants > 150);
    CHECK(races >= 15); // the dependences of a ring that nothing else implies
}

TEST_CASE("a file whose head contradicts itself is refused, and says in what") {
    const msccl_algorithm good = words_of(plan_allgather(ring{}, {.size = 3}));
    REQUIRE(judge(good).none());
    const auto says = [&](auto change) {
        msccl_algorithm bad = good;
        change(bad);
        return judge(bad).sentence;
    };
    CHECK(says([](msccl_algorithm& a) { a.kind = 255; }) == "this is no collective that can be proved");
    const std::string gpus = "ngpus is not the number of gpu elements";
    CHECK(says([](msccl_algorithm& a) { a.gpus.push_back(a.gpus[0]); }) == gpus);
    CHECK(says([](msccl_algorithm& a) { a.size = 0; }) == gpus);
    CHECK(says([](msccl_algorithm& a) { a.size = 0, a.gpus.clear(); }) == gpus);
    CHECK(says([](msccl_algorithm& a) { a.gpus.pop_back(); }) == gpus);
    CHECK(says([](msccl_algorithm& a) { a.chunks = 0; }) == "nchunksperloop must be at least 1");
    CHECK(says([](msccl_algorithm& a) { a.in_place = a.out_of_place = false; }) ==
          "inplace and outofplace are both 0: there is no use for it");
    CHECK(says([](msccl_algorithm& a) { ++a.chunks; }) ==
          "nchunksperloop must be a multiple of ngpus for this collective");
    CHECK(says([](msccl_algorithm& a) { a.chunks = 3 << 22; }) == "too many chunks to prove");
    CHECK(says([](msccl_algorithm& a) { std::swap(a.gpus[0], a.gpus[1]); }) ==
          "the gpu elements do not have the ids 0, 1, 2, ...");
    CHECK(says([](msccl_algorithm& a) { a.gpus[2].scratch_chunks = (1 << 22) + 1; }) == "too much scratch to prove");
}

TEST_CASE("files by hand") {
    // Allgather in place only, two chunks per GPU, as GPUs send straight into each other's output.
    msccl_algorithm a;
    a.kind = goal::allgather::kind;
    a.size = 2;
    a.chunks = 4;
    a.in_place = true;
    a.out_of_place = false;
    std::size_t line = 1;
    for (rank_t r = 0; r != 2; ++r) {
        msccl_gpu gpu;
        gpu.id = r;
        gpu.output_chunks = 4;
        msccl_block tb;
        tb.send = tb.receive = 1 - r;
        msccl_step s{msccl_verb::send, {'o', 2 * r}, {'o', 2 * r}, 2, -1, -1, false, ++line};
        tb.steps.push_back(s);
        s = {msccl_verb::receive, {'o', 2 - 2 * r}, {'o', 2 - 2 * r}, 2, -1, -1, false, ++line};
        tb.steps.push_back(s);
        gpu.blocks.push_back(tb);
        a.gpus.push_back(gpu);
    }
    CHECK(judge(a).none());
    msccl_algorithm both = a;
    both.out_of_place = true; // then nobody puts the own chunks into the output
    CHECK(judge(both).sentence == "reads a chunk that nobody has written");
    msccl_algorithm swapped = a;
    std::swap(swapped.gpus[0].blocks[0].steps[0], swapped.gpus[0].blocks[0].steps[1]);
    std::swap(swapped.gpus[1].blocks[0].steps[0], swapped.gpus[1].blocks[0].steps[1]);
    CHECK(judge(swapped).sentence.find("deadlock") == 0); // both receive first
    msccl_algorithm shifted = a;
    shifted.gpus[1].blocks[0].steps[1].target.offset = 1;
    CHECK_FALSE(judge(shifted).none());
    CHECK(judge(shifted).rank == 1);

    // Allreduce by receive-reduce-copy-send around a ring of two, in place, one chunk.
    msccl_algorithm ring2;
    ring2.kind = goal::allreduce::kind;
    ring2.size = 2;
    ring2.chunks = 1;
    ring2.out_of_place = false;
    for (rank_t r = 0; r != 2; ++r) {
        msccl_gpu gpu;
        gpu.id = r;
        msccl_block tb;
        tb.send = tb.receive = 1 - r;
        if (r == 0) {
            tb.steps.push_back({msccl_verb::send, {'i', 0}, {'i', 0}, 1, -1, -1, false, 10});
            tb.steps.push_back({msccl_verb::receive, {'i', 0}, {'i', 0}, 1, -1, -1, false, 11});
        } else {
            tb.steps.push_back({msccl_verb::receive_reduce_copy_send, {'i', 0}, {'i', 0}, 1, -1, -1, false, 12});
        }
        gpu.blocks.push_back(tb);
        ring2.gpus.push_back(gpu);
    }
    CHECK(judge(ring2).none());
    ring2.gpus[1].blocks[0].steps[0].what = msccl_verb::receive_reduce_send; // GPU 1 keeps nothing
    CHECK(judge(ring2).rank == 1);
    ring2.gpus[1].blocks[0].steps[0].what = msccl_verb::receive_copy_send; // nobody reduces
    CHECK_FALSE(judge(ring2).none());
}

namespace {

// An allreduce of all pairs in place, as msccl-tools compiles it: every GPU owns `own` chunks, gets its peers' versions into
// scratch, reduces them one after the other into its input, and sends the sums to all.
msccl_algorithm all_pairs(rank_t p, std::uint32_t own) {
    msccl_algorithm a;
    a.kind = goal::allreduce::kind;
    a.size = p;
    a.chunks = p * own;
    a.out_of_place = false;
    std::size_t line = 1;
    for (rank_t r = 0; r != p; ++r) {
        msccl_gpu gpu;
        gpu.id = r;
        gpu.scratch_chunks = (p - 1) * own;
        gpu.blocks.resize(p); // the last one reduces
        const std::int64_t mine = r * own;
        for (rank_t k = 0; k + 1 != p; ++k) {
            const rank_t peer = k < r ? k : k + 1;
            msccl_block& tb = gpu.blocks[k];
            tb.send = tb.receive = peer;
            const std::int64_t theirs = peer * own, at = k * own;
            tb.steps.push_back({msccl_verb::send, {'i', theirs}, {'s', 0}, own, -1, -1, false, ++line});
            tb.steps.push_back({msccl_verb::receive, {'i', mine}, {'s', at}, own, -1, -1, true, ++line});
            tb.steps.push_back({msccl_verb::send, {'i', mine}, {'i', mine}, own, p - 1, 0, false, ++line});
            tb.steps.push_back({msccl_verb::receive, {'i', theirs}, {'i', theirs}, own, -1, -1, false, ++line});
        }
        msccl_block& reduces = gpu.blocks[p - 1];
        for (rank_t k = 1; k + 1 < p; ++k)
            reduces.steps.push_back({msccl_verb::nothing, {}, {}, 0, k, 1, false, ++line});
        for (rank_t k = 0; k + 1 != p; ++k)
            reduces.steps.push_back({msccl_verb::combine,
                                     {'s', k * own},
                                     {'i', mine},
                                     own,
                                     k == 0 ? 0 : -1,
                                     k == 0 ? 1 : -1,
                                     k + 2 == p,
                                     ++line});
        for (rank_t k = 0; k + 1 != p; ++k)
            gpu.blocks[k].steps[2].dep_step = static_cast<std::int64_t>(reduces.steps.size()) - 1;
        a.gpus.push_back(gpu);
    }
    return a;
}

} // namespace

TEST_CASE("an allreduce of all pairs, in place, with scratch of its own layout") {
    for (const rank_t p : {2u, 3u, 4u, 8u})
        for (const std::uint32_t own : {1u, 2u, 3u}) {
            CAPTURE(p, own);
            verdict proof;
            const import_fault f = judge(all_pairs(p, own), &proof);
            INFO(to_string(f));
            CHECK(f.none());
            CHECK(proof.traits.messages == 2 * p * (p - 1));
            CHECK(proof.traits.volume == 2u * p * (p - 1) * own);
            CHECK(proof.traits.combines == p * (p - 1) * own);
            CHECK(proof.traits.depth == p - 1);
        }
    // A nop less: the reduction may come before a message.
    msccl_algorithm bad = all_pairs(4, 2);
    bad.gpus[2].blocks[3].steps[0].dep_block = bad.gpus[2].blocks[3].steps[0].dep_step = -1;
    CHECK(judge(bad).sentence.find("race") == 0);
    CHECK(judge(bad).rank == 2);
    // Its result is sent before it is complete.
    bad = all_pairs(4, 2);
    bad.gpus[1].blocks[0].steps[2].dep_block = bad.gpus[1].blocks[0].steps[2].dep_step = -1;
    CHECK(judge(bad).sentence.find("race") == 0);
    CHECK(judge(bad).rank == 1);
    // One version is reduced twice, another never.
    bad = all_pairs(4, 2);
    bad.gpus[3].blocks[3].steps.back().source.offset = 0;
    CHECK(judge(bad).rank == 3);
    CHECK(judge(bad).line == bad.gpus[3].blocks[3].steps.back().line);
}
