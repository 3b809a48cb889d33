// SPDX-License-Identifier: BSL-1.0
// The commands. Each takes what was typed, prints to standard output and returns the exit status: 0 all is well, 1 a plan
// or a result is wrong. It throws usage_error (status 2) for what cannot be asked for.
#ifndef BOUGH_TOOLS_COMMANDS_HPP
#define BOUGH_TOOLS_COMMANDS_HPP

#include "cluster.hpp"

#include <string>
#include <vector>

namespace cli {

struct tree_arguments {
    std::string shape;
    std::string ranks;
    std::string degree;
    std::string root; // empty: 0, or what the tree takes best
    bool ordered = false;
    std::string format = "outline";
    cost_arguments costs; // of spoc, fnf, search, optimal, interval; the latency of postal and arrival, too
    std::string gap;      // of these, in ns or with a unit
    std::string arrivals; // of arrival
};
int tree(const tree_arguments&);
int cost_tree_command(const tree_arguments&);

struct compare_arguments {
    std::string collective = "broadcast";
    std::string root = "0"; // a list, or all
    cost_arguments costs;
    std::string format = "text";
};
int compare(const compare_arguments&);

// What names a plan: of schedule and verify.
struct plan_arguments {
    std::string collective;
    std::string algorithm;
    std::string ranks;
    std::string degree;
    std::string extents;    // of a torus
    std::string neighbours; // of a collective that has some
    std::string network;    // for which packed_trees packs its trees; simulate also runs the plan over it
    std::string root = "0";
    std::string blocks;
    bool ordered = false;
    std::string format = "text";
};

struct schedule_arguments {
    plan_arguments plan;
    std::string rank; // empty: every rank
};
int schedule(const schedule_arguments&);

struct verify_arguments {
    plan_arguments plan;
    std::string schedule; // a file instead of a plan
};
int verify(const verify_arguments&);

struct nic_arguments {
    plan_arguments plan;
    std::string rank;   // empty: every rank
    std::string target; // empty: host
    std::string op = "sum";
    std::string type = "int64";
    std::string elements; // of the vector; empty: one per block
    std::string banks = "1";
    bool accumulate = false;
    bool multicast = false;
    bool without_credits = false;
    bool targets = false;                              // list them instead
    bool choose = false;                               // say where a reduction should run
    std::string host_costs = "4us,2.5us,0.02us,0.5us"; // L, r, c, C
    std::string nic_costs = "2.1us,0.42us,1.5us,9.2us";
    std::string per_node = "1";
    std::string node_costs = "0.1us,0.06us,0.01us,0.05us";
};
int nic(const nic_arguments&);

struct table_arguments {
    std::string ranks = "13";
    std::string format = "text";
};
int table(const table_arguments&);

// A transport by its name, and what goes with one of them alone.
struct transport_arguments {
    std::string transport;
    std::string nodes;            // of composite
    std::string provider;         // of fabric
    std::string device;           // of verbs
    std::vector<std::string> tls; // of tcp: certificate, key, authorities
    bool tcp_only = false;        // of tcp: no Unix sockets
};

// Without a transport nothing is said of the ways of messages.
struct choose_arguments : transport_arguments {
    std::string collective;
    std::string ranks;
    std::string bytes; // empty: 64K
    std::string root = "0";
    std::string neighbours; // of a collective that has some
    std::string model;      // a file or three costs; empty: those of bough's own tables
    std::string eager;      // a size; empty: all messages are
    std::string network;    // to run the candidates over
    std::string table;      // a file
    std::string require;    // order,bits,any_size
    bool exact = false;     // the op
    bool all = false;       // price all
    std::string arrivals;   // when each rank comes
    std::string format = "text";
};
int choose(const choose_arguments&);

struct map_arguments {
    std::string collective;
    std::string ranks = "2..64";
    std::string bytes; // empty: 8..16M
    std::string model;
    std::string eager;   // a size; empty: all messages are
    std::string network; // to run the candidates over
    std::string require;
    std::string format = "text";
};
int map(const map_arguments&);

struct network_arguments {
    std::string network;
    std::string seed = "1"; // of irregular
    std::string format = "text";
};
int network(const network_arguments&);

struct tune_arguments {
    std::string collective;
    std::string ranks = "2..4";
    std::string bytes; // empty: 8..1M
    std::string transport = "in_process";
    std::string iterations = "51";
    std::string provider; // of fabric
};
int tune_one_sided(const tune_arguments&);
int tune(const tune_arguments&);

struct predict_arguments {
    std::string model;
    std::string ranks = "4,8,16,512,1024";
    std::string bytes; // empty: 4..4K, or those of messages
    std::string blocks = "1K,2K,3K,4K";
    std::string messages;   // RANKS:BYTES:BROADCAST:ALLREDUCE,..., us: what they take by messages
    std::string parameters; // Tm,Td,Ts,Tn,Tt,To,Tc,Ta; empty: the paper's
    std::string transport;  // to measure them over
    std::string provider;   // of fabric
    std::string format = "text";
};
int predict(const predict_arguments&);

struct measure_arguments {
    std::string transport = "in_process";
    std::string ranks = "8";
    std::string iterations = "101";
    std::string model = "lrc";
    std::string format = "text";
    bool heterogeneous = false;
    std::string emulate; // a cluster that the ranks are made to be
};
int measure_cluster(const measure_arguments&);
int measure(const measure_arguments&);

struct run_arguments : transport_arguments {
    run_arguments() { transport = "in_process"; }
    std::string collective;
    std::string algorithm = "auto"; // or all, or a name
    std::string degree;
    std::string extents; // of a torus
    std::string network; // of packed_trees
    std::string ranks;
    std::string root = "0";
    std::string launch = "local"; // or pmix
    std::string bytes;            // empty: 8,1K,64K,1M
    std::string op = "plus";
    std::string type = "f64";
    std::string iterations; // empty: a thousand, or fewer where they would take long
    std::string blocks;     // empty: as many as suit the algorithm
    std::string emulate;    // a cluster that the ranks are made to be
    std::string arrivals;   // when each rank comes; empty: together
    std::string trace;      // a file; empty: none
    std::string format = "text";
};
int run(const run_arguments&);

struct launch_arguments {
    std::string ranks;
    std::string ranks_as = "--ranks"; // or -n
    std::string timeout;              // seconds; empty: none
    std::string grace;
    bool prefix = false;
    std::string trace;                // a file; empty: none
    std::vector<std::string> program; // and its arguments
};
int launch(const launch_arguments&);

struct doctor_arguments {
    std::vector<std::string> files;
    std::string format = "text";
};
int doctor(const doctor_arguments&);

struct trace_arguments {
    std::vector<std::string> files; // or folders
    std::string out;                // empty: standard output
};
int trace(const trace_arguments&);

// What a simulated run is made of.
struct timed_arguments {
    std::string bytes;                          // empty: 4K
    std::string model = "2500,1500,1000,0.1,0"; // L,o,g,G,O in ns; or alpha,beta,gamma
    std::string skew = "0";                     // ns: ranks begin at random times up to it
    std::string seed = "1";
};
struct timeline_arguments {
    plan_arguments plan; // format: svg or trace
    timed_arguments timed;
};
int timeline(const timeline_arguments&);

struct export_arguments {
    plan_arguments plan; // format: goal, msccl, dot, svg, csv or trace
    timed_arguments timed;
    bool annotate = false;
};
int export_plan(const export_arguments&);

struct import_arguments {
    std::string file;
    std::string from = "auto"; // or goal, msccl
    bool verify = false;
    std::string slots = "2";
    std::string format = "text";
};
int import_file(const import_arguments&);

struct simulate_arguments {
    plan_arguments plan;
    std::string bytes;                      // empty: 8
    std::string model;                      // table2, rdma, lrc:..., loggops:..., three costs, a file
    std::string skew;                       // uniform:TIME, exponential:TIME, given:TIME,TIME...
    std::vector<std::string> daemons;       // PERIOD,DURATION or PERIOD,DURATION,PHASE
    std::vector<std::string> interruptions; // WINDOW,LEAST,MOST or WINDOW,LEAST,MOST,PER_1000
    std::string slow;                       // FACTOR,PER_1000
    std::string mode = "host";
    bool after_entry = false;
    std::string order = "program";
    std::string slots = "0";
    std::string eager;
    std::string split; // POLL,COST
    std::string operations = "1";
    std::string compute = "0";
    std::string runs = "1";
    std::string seed = "1";
    std::string measure = "last";
    std::string drop = "0";
    std::string histogram;
    bool per_rank = false;
};
int simulate(const simulate_arguments&);

struct demo_arguments {
    std::string file;    // empty: examples/data/temperatures.txt
    std::string picture; // a file to write; empty: none
};
int demo(const demo_arguments&);

} // namespace cli

#endif
