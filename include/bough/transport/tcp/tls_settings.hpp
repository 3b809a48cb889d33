// SPDX-License-Identifier: BSL-1.0
// tls_settings: the certificate of a rank, its key, and the authorities that it trusts, for all TLS
// connections of the rank.
#ifndef BOUGH_TRANSPORT_TCP_TLS_SETTINGS_HPP
#define BOUGH_TRANSPORT_TCP_TLS_SETTINGS_HPP

#include <bough/core/status.hpp>
#include <bough/os/asio_config.hpp>
#include <bough/transport/tcp/options.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl/context.hpp>

#include <cstdint>
#include <memory>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <string>

namespace bough::inline BOUGH_ABI::detail {

// Why a rank's own certificate was not verified. `code`: the X509_V_ code; `depth`: how far above
// the certificate in its chain the fault is.
inline status certificate_fault(int code, int depth) {
    switch (code) {
    case X509_V_OK:
    case X509_V_ERR_OUT_OF_MEM:
    case X509_V_ERR_UNSPECIFIED: return {.code = errc::no_resources}; // the check could not be made
    case X509_V_ERR_INVALID_PURPOSE:
        return invalid_argument(
            depth == 0
                ? "tls.certificate: its (extended) key usage must allow clients and servers"
                : "tls.certificate: the (extended) key usage of who vouches for it must allow clients and servers");
    default: return invalid_argument("tls.certificate: tls.authorities do not vouch for it now");
    }
}

class tls_settings {
public:
    using context_type = boost::asio::ssl::context;

    // After so many records a sender takes a new key. AES-GCM may encrypt 2^24.5 with one (RFC
    // 8446, section 5.5).
    std::uint64_t records_per_key = std::uint64_t{1} << 23;

    // Pre: load() has found nothing wrong.
    context_type& context() noexcept { return *context_; }

    status load(const tls_options& options) {
        if (options.certificate.empty()) return invalid_argument("tls.certificate: is not set");
        if (options.key.empty()) return invalid_argument("tls.key: is not set");
        if (options.authorities.empty()) return invalid_argument("tls.authorities: are not set");
        context_ = std::make_unique<context_type>(context_type::tlsv13);
        context_type& c = *context_;
        boost::system::error_code error;
        // Do not ask at the terminal for the password of a key.
        c.set_password_callback([](std::size_t, context_type::password_purpose) { return std::string(); }, error);
        if (is_text(options.certificate))
            c.use_certificate_chain(boost::asio::buffer(options.certificate), error);
        else
            c.use_certificate_chain_file(options.certificate, error);
        if (error) return invalid_argument("tls.certificate: cannot be read as PEM");
        if (is_text(options.key))
            c.use_private_key(boost::asio::buffer(options.key), context_type::pem, error);
        else
            c.use_private_key_file(options.key, context_type::pem, error);
        if (error || SSL_CTX_check_private_key(c.native_handle()) != 1)
            return invalid_argument("tls.key: is not that of tls.certificate, or cannot be read as PEM");
        if (is_text(options.authorities))
            c.add_certificate_authority(boost::asio::buffer(options.authorities), error);
        else
            c.load_verify_file(options.authorities, error);
        if (error) return invalid_argument("tls.authorities: cannot be read as PEM");
        c.set_verify_mode(boost::asio::ssl::verify_peer | boost::asio::ssl::verify_fail_if_no_peer_cert, error);
        SSL_CTX_set_num_tickets(c.native_handle(), 0); // no session is resumed
        SSL_CTX_set_session_cache_mode(c.native_handle(), SSL_SESS_CACHE_OFF);
        for (const int role : {X509_PURPOSE_SSL_CLIENT, X509_PURPOSE_SSL_SERVER})
            if (const status fault = fault_as(role)) return fault;
        // The name is set last, because only the peers' certificates must have it, not this rank's
        // own.
        if (!options.name.empty() &&
            X509_VERIFY_PARAM_set1_host(SSL_CTX_get0_param(c.native_handle()), options.name.c_str(), 0) != 1)
            return invalid_argument("tls.name: is no name");
        return {};
    }

private:
    static bool is_text(const std::string& given) { return given.find("-----BEGIN") != given.npos; }

    // Does this rank's own certificate meet what it asks of the others' certificates? If not, they
    // would refuse it. It needs both roles: it calls on some ranks, as a client, and accepts
    // others.
    status fault_as(int role) const {
        X509_STORE_CTX* const trial = X509_STORE_CTX_new();
        if (trial == nullptr) return {.code = errc::no_resources};
        SSL_CTX* const c = context_->native_handle();
        STACK_OF(X509)* chain = nullptr;
        SSL_CTX_get0_chain_certs(c, &chain);
        status fault{.code = errc::no_resources};
        if (X509_STORE_CTX_init(trial, SSL_CTX_get_cert_store(c), SSL_CTX_get0_certificate(c), chain) == 1 &&
            X509_STORE_CTX_set_purpose(trial, role) == 1)
            fault = X509_verify_cert(trial) == 1
                        ? status{}
                        : certificate_fault(X509_STORE_CTX_get_error(trial), X509_STORE_CTX_get_error_depth(trial));
        X509_STORE_CTX_free(trial);
        return fault;
    }

    std::unique_ptr<context_type> context_;
};

} // namespace bough::detail

#endif
