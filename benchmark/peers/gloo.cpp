// SPDX-License-Identifier: BSL-1.0
// Gloo in the comparison: processes over TCP on loopback, found through files.  gloo RANKS FOLDER
#include "../arguments.hpp"
#include "measured.hpp"

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <memory>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using function = void (*)(void*, const void*, const void*, std::size_t);

class group_of_gloo {
public:
    group_of_gloo(unsigned rank, unsigned size, const std::string& folder) {
        gloo::transport::tcp::attr at;
        at.iface = "lo";
        gloo::rendezvous::FileStore store(folder);
        auto made = std::make_shared<gloo::rendezvous::Context>(static_cast<int>(rank), static_cast<int>(size));
        auto device = gloo::transport::tcp::CreateDevice(at);
        made->connectFullMesh(store, device);
        context_ = made;
    }
    unsigned rank() const { return static_cast<unsigned>(context_->rank); }
    unsigned size() const { return static_cast<unsigned>(context_->size); }
    void allreduce(std::vector<double>& in, std::vector<double>& out) {
        gloo::AllreduceOptions options(context_);
        options.setInput(in.data(), in.size());
        options.setOutput(out.data(), out.size());
        options.setReduceFunction(static_cast<function>(&gloo::sum<double>));
        gloo::allreduce(options);
    }
    using values = std::vector<double>;
    void reduce(values& in, values& out) {
        gloo::ReduceOptions options(context_);
        options.setInput(in.data(), in.size());
        options.setOutput(out.data(), out.size());
        options.setRoot(0);
        options.setReduceFunction(static_cast<function>(&gloo::sum<double>));
        gloo::reduce(options);
    }
    void broadcast(values& x) {
        gloo::BroadcastOptions options(context_);
        options.setOutput(x.data(), x.size());
        options.setRoot(0);
        gloo::broadcast(options);
    }
    void allgather(values& in, values& out) {
        gloo::AllgatherOptions options(context_);
        options.setInput(in.data(), in.size());
        options.setOutput(out.data(), out.size());
        gloo::allgather(options);
    }
    void alltoall(values& in, values& out) {
        gloo::AlltoallOptions options(context_);
        options.setInput(in.data(), in.size());
        options.setOutput(out.data(), out.size());
        gloo::alltoall(options);
    }
    void barrier() {
        gloo::BarrierOptions options(context_);
        gloo::barrier(options);
    }
    void broadcast_from_0(int& x) {
        gloo::BroadcastOptions options(context_);
        options.setOutput(&x, 1);
        options.setRoot(0);
        gloo::broadcast(options);
    }

private:
    std::shared_ptr<gloo::Context> context_;
};

} // namespace

int main(int argc, char** argv) {
    const arguments::list given(argc, argv, 2, "gloo RANKS FOLDER");
    if (!given.has(2)) given.refuse(argc, "is missing");
    const auto ranks = given.number<unsigned>(1, "RANKS", 2, 64, 2);
    for (unsigned r = 0; r != ranks; ++r)
        if (::fork() == 0) {
            peers::pin(r, ranks);
            group_of_gloo group(r, ranks, argv[2]);
            peers::measure(group);
            std::fflush(stdout);
            std::_Exit(0);
        }
    int worst = 0;
    for (int state = 0; ::wait(&state) > 0;) worst |= state;
    return worst == 0 ? 0 : 1;
}
