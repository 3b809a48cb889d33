// SPDX-License-Identifier: BSL-1.0
// Certificates for tests, made as they run: an authority, and what it vouches for.
#ifndef BOUGH_TEST_TRANSPORT_CERTIFICATES_HPP
#define BOUGH_TEST_TRANSPORT_CERTIFICATES_HPP

#include <bough/transport/tcp/options.hpp>

#include <memory>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdexcept>
#include <string>

namespace test_tcp {

class authority {
public:
    // `uses`: that it may vouch for ("serverAuth,..."); or any.
    explicit authority(const char* name = "authority", const char* uses = nullptr) : key_(new_key()) {
        certificate_ = signed_one(*key_, name, -3600, 3600, uses);
    }
    std::string pem() const { return text_of(*certificate_); }
    // What a rank is given: a certificate that is valid in these seconds from now on, for these uses, or for any.
    bough::tls_options issue(const char* name = "rank", long from = -3600, long to = 3600,
                             const char* uses = nullptr) const {
        const key_pointer key = new_key();
        return {text_of(*signed_one(*key, name, from, to, uses)), text_of(*key), pem()};
    }

private:
    struct freed {
        void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
        void operator()(EVP_PKEY_CTX* p) const { EVP_PKEY_CTX_free(p); }
        void operator()(X509* p) const { X509_free(p); }
        void operator()(BIO* p) const { BIO_free(p); }
    };
    using key_pointer = std::unique_ptr<EVP_PKEY, freed>;
    using certificate_pointer = std::unique_ptr<X509, freed>;

    static void expect(bool right) {
        if (!right) throw std::runtime_error("OpenSSL makes no certificate");
    }
    static key_pointer new_key() {
        const std::unique_ptr<EVP_PKEY_CTX, freed> maker(EVP_PKEY_CTX_new_id(EVP_PKEY_ED25519, nullptr));
        EVP_PKEY* made = nullptr;
        expect(maker && EVP_PKEY_keygen_init(maker.get()) == 1 && EVP_PKEY_keygen(maker.get(), &made) == 1);
        return key_pointer(made);
    }
    // The first one signs itself.
    certificate_pointer signed_one(EVP_PKEY& key, const char* name, long from, long to,
                                   const char* uses = nullptr) const {
        certificate_pointer made(X509_new());
        expect(made && X509_set_version(made.get(), 2) == 1 && X509_set_pubkey(made.get(), &key) == 1 &&
               X509_gmtime_adj(X509_getm_notBefore(made.get()), from) != nullptr &&
               X509_gmtime_adj(X509_getm_notAfter(made.get()), to) != nullptr);
        X509_NAME* const subject = X509_get_subject_name(made.get());
        expect(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(name), -1,
                                          -1, 0) == 1);
        if (!certificate_) extend(*made, NID_basic_constraints, "critical,CA:TRUE");
        if (uses != nullptr) extend(*made, NID_ext_key_usage, uses);
        X509* const signer = certificate_ ? certificate_.get() : made.get();
        expect(X509_set_issuer_name(made.get(), X509_get_subject_name(signer)) == 1 &&
               X509_sign(made.get(), key_.get(), nullptr) != 0);
        return made;
    }
    static void extend(X509& certificate, int what, const char* value) {
        X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, nullptr, what, value);
        expect(extension != nullptr && X509_add_ext(&certificate, extension, -1) == 1);
        X509_EXTENSION_free(extension);
    }
    template <class Write>
    static std::string written(const Write& write) {
        const std::unique_ptr<BIO, freed> memory(BIO_new(BIO_s_mem()));
        expect(memory && write(memory.get()) == 1);
        char* text = nullptr;
        const long length = BIO_get_mem_data(memory.get(), &text);
        return {text, static_cast<std::size_t>(length)};
    }
    static std::string text_of(X509& certificate) {
        return written([&](BIO* to) { return PEM_write_bio_X509(to, &certificate); });
    }
    static std::string text_of(EVP_PKEY& key) {
        return written(
            [&](BIO* to) { return PEM_write_bio_PrivateKey(to, &key, nullptr, nullptr, 0, nullptr, nullptr); });
    }

    key_pointer key_;
    certificate_pointer certificate_;
};

} // namespace test_tcp

#endif
