// SPDX-License-Identifier: BSL-1.0
// What may be typed for remote writes: bough predict.
#include "command_line.hpp"

namespace cli {

void add_predict(command_line& line) {
    auto [command, typed] = line.add(
        "predict", "Predict collectives over remote writes, the best k and the best block",
        "  bough predict rdma\n"
        "  bough predict rdma --ranks 16,512 --bytes 8..64K --measure shared_memory\n"
        "  bough predict rdma --ranks 512 --messages 16:4:55.0:118.1\n"
        "  bough predict rdma --parameters 0,100,60,40,0.1,0.1,0.05,0 --format json\n"
        "The equations are those of Gupta et al., IPDPS 2003; without --parameters and --measure, of its network.",
        &predict);
    command->add_option("MODEL", typed.model, "rdma")->required()->type_name("");
    command->add_option("--ranks", typed.ranks, "A list as 4,8,512; the paper's if not given")->type_name("LIST");
    command->add_option("--bytes", typed.bytes, "A range as 4..4K: its powers of two; or a list")->type_name("SIZES");
    command->add_option("--blocks", typed.blocks, "Block sizes of the broadcast to choose from")->type_name("SIZES");
    command
        ->add_option("--messages", typed.messages,
                     "Compare with messages: RANKS:BYTES:BROADCAST:ALLREDUCE,... what they take there, us")
        ->type_name("LIST");
    command->add_option("--parameters", typed.parameters, "Tm,Td,Ts,Tn,Tt,To,Tc,Ta in ns and ns per byte")
        ->type_name("LIST");
    command
        ->add_option("--measure", typed.transport, "Fit the parameters here, over in_process, shared_memory or fabric")
        ->type_name("T");
    command->add_option("--provider", typed.provider, "Of fabric, as fi_info names it")->type_name("NAME");
    add_format(command, typed.format, {"text", "json"});
}

} // namespace cli
