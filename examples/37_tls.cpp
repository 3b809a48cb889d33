// SPDX-License-Identifier: BSL-1.0
// Processes inside TLS 1.3. A rank whose certificate the others' authority does not vouch for is not let in, and is told.
#include <bough/allreduce.hpp>
#include <bough/launch.hpp>
#include <bough/transport/tcp/tls.hpp>

#include <cstdio>
#include <memory>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <span>
#include <string>

// The least there is: one certificate for a whole job, which vouches for itself. Who has authorities gives files of theirs.
bough::tls_options new_certificate() {
    const std::unique_ptr<EVP_PKEY_CTX, void (*)(EVP_PKEY_CTX*)> maker(EVP_PKEY_CTX_new_id(EVP_PKEY_ED25519, nullptr),
                                                                       EVP_PKEY_CTX_free);
    EVP_PKEY* made = nullptr;
    if (EVP_PKEY_keygen_init(maker.get()) != 1 || EVP_PKEY_keygen(maker.get(), &made) != 1) return {};
    const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(made, EVP_PKEY_free);
    const std::unique_ptr<X509, void (*)(X509*)> paper(X509_new(), X509_free);
    X509_set_pubkey(paper.get(), key.get());
    X509_gmtime_adj(X509_getm_notBefore(paper.get()), -60);
    X509_gmtime_adj(X509_getm_notAfter(paper.get()), 3600); // seconds from now
    X509_sign(paper.get(), key.get(), nullptr);
    const auto text = [](auto write) {
        const std::unique_ptr<BIO, int (*)(BIO*)> memory(BIO_new(BIO_s_mem()), BIO_free);
        write(memory.get());
        char* begin = nullptr;
        const long length = BIO_get_mem_data(memory.get(), &begin);
        return std::string(begin, static_cast<std::size_t>(length));
    };
    const std::string pem = text([&](BIO* to) { PEM_write_bio_X509(to, paper.get()); });
    return {.certificate = pem,
            .key =
                text([&](BIO* to) { PEM_write_bio_PrivateKey(to, key.get(), nullptr, nullptr, 0, nullptr, nullptr); }),
            .authorities = pem};
}

int main() {
    bough::tcp_options options;
    options.tls = new_certificate();
    const bough::launch_report all = bough::launch(3, [&](bough::job job) {
        bough::communicator comm{bough::tcp_tls{job, options}};
        double x = comm.rank() + 1.0;
        bough::allreduce(comm, std::span(&x, 1), bough::plus{});
        if (comm.rank() == 0) std::printf("every rank has %g\n", x);
    });
    options.timeout_ns = 2'000'000'000; // nobody comes who is right, so it is waited for to the end
    const bough::launch_report stranger = bough::launch(2, [&](bough::job job) {
        if (job.rank() == 1) options.tls = new_certificate(); // of its own
        bough::status why;
        const auto link = bough::tcp_tls::join(job, options, why);
        if (job.rank() == 1) std::printf("rank 1 is not let in: %s\n", bough::describe(why.code));
        return !link && (job.rank() == 0 || why.code == bough::errc::protocol_error) ? 0 : 1;
    });
    return all.ok() && stranger.ok() ? 0 : 1;
}
