// SPDX-License-Identifier: BSL-1.0
// What Gloo does when something goes wrong; its processes find each other through files.
//   gloo op|length|root|death|stop|late|nan|flood FOLDER
#include "../arguments.hpp"
#include "told.hpp"

#include <csignal>
#include <exception>
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/transport/tcp/device.h>
#include <memory>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using context = std::shared_ptr<gloo::rendezvous::Context>;
using function = void (*)(void*, const void*, const void*, std::size_t);

context join(unsigned rank, unsigned size, const std::string& folder, const char* name) {
    gloo::transport::tcp::attr at;
    at.iface = "lo";
    auto device = gloo::transport::tcp::CreateDevice(at);
    gloo::rendezvous::FileStore files(folder);
    gloo::rendezvous::PrefixStore store(name, files);
    auto made = std::make_shared<gloo::rendezvous::Context>(static_cast<int>(rank), static_cast<int>(size));
    made->setTimeout(failures::deadline);
    made->connectFullMesh(store, device);
    return made;
}
void barrier(const context& all) {
    gloo::BarrierOptions options(all);
    gloo::barrier(options);
}
void allreduce(const context& all, std::vector<double>& in, std::vector<double>& out, function f) {
    gloo::AllreduceOptions options(all);
    options.setInput(in.data(), in.size());
    options.setOutput(out.data(), out.size());
    options.setReduceFunction(f);
    gloo::allreduce(options);
}
void reduce(const context& all, std::vector<double>& in, std::vector<double>& out, unsigned root) {
    gloo::ReduceOptions options(all);
    options.setInput(in.data(), in.size());
    options.setOutput(out.data(), out.size());
    options.setRoot(static_cast<int>(root));
    options.setReduceFunction(static_cast<function>(&gloo::sum<double>));
    gloo::reduce(options);
}

void flood(const context& all, const std::string& folder) {
    const auto me = static_cast<unsigned>(all->rank);
    context calls, waits;
    if (me != 2) calls = join(me, 2, folder, "calls");
    if (me != 0) waits = join(me - 1, 2, folder, "waits");
    barrier(all);
    const double before = failures::most_mib();
    const failures::told told(me);
    if (me == 2) std::this_thread::sleep_for(failures::late);
    if (waits) barrier(waits);
    std::vector<char> bytes(failures::flood_bytes);
    if (calls)
        for (int i = 0; i != failures::flood_calls; ++i) {
            gloo::BroadcastOptions options(calls);
            options.setOutput(bytes.data(), bytes.size());
            options.setRoot(0);
            gloo::broadcast(options);
        }
    if (me != 2) told.say("success, and %.0f MiB more memory", failures::most_mib() - before);
}

void run(unsigned me, std::string_view what, const std::string& folder) {
    if (what == "late" && me == 1) std::this_thread::sleep_for(failures::late);
    failures::told told(me);
    const char* next = "";
    const bool wrong = me == 1;
    try {
        const context all = join(me, failures::ranks_of(what), folder, "all");
        barrier(all);
        if (what == "flood") return flood(all, folder);
        std::vector<double> x{me + 1.0}, sum{0};
        if (what == "nan") {
            std::string said;
            for (const unsigned where : {4u, 0u, 1u, 2u}) {
                x[0] = me == where ? failures::not_a_number : me + 1.0;
                allreduce(all, x, sum, &gloo::max<double>);
                said += " " + std::to_string(sum[0]).substr(0, 3);
            }
            return told.say("success,%s", said.c_str());
        }
        if (what != "late") told = failures::told(me);
        if (what == "death" && wrong) std::raise(SIGKILL);
        if (what == "stop" && wrong) std::raise(SIGSTOP);
        if (what == "length" && wrong) x.resize(2), sum.resize(2);
        if (what == "root")
            reduce(all, x, sum, wrong ? 1 : 0);
        else
            allreduce(all, x, sum, what == "op" && wrong ? function(&gloo::max<double>) : function(&gloo::sum<double>));
        told.say("success, %g", sum[0]);
        next = "in the next call, ";
        barrier(all);
    } catch (const std::exception& e) {
        told.say("%san exception: %s", next, e.what());
    }
}

} // namespace

int main(int argc, char** argv) {
    const char* const usage = "gloo op|length|root|death|stop|late|nan|flood FOLDER";
    const arguments::list given(argc, argv, 2, usage);
    const std::string_view what =
        given.word(1, "what goes wrong", {"op", "length", "root", "death", "stop", "late", "nan", "flood"});
    if (!given.has(2)) given.refuse(argc, "is missing");
    for (unsigned r = 0; r != failures::ranks_of(what); ++r)
        if (::fork() == 0) {
            run(r, what, argv[2]);
            std::fflush(stdout);
            std::_Exit(0);
        }
    while (::wait(nullptr) > 0) {
    }
}
