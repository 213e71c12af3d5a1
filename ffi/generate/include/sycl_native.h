/* What libsycl has and no header of its wheel declares, by the names that the compiler gives C++. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <syclinterface/dpctl_sycl_types.h>

/* sycl::backend::opencl */
enum { SYCL_BACKEND_OPENCL = 1 };

/* A sycl::context and a DPCTLSyclContextRef's target: one std::shared_ptr. */
enum { SYCL_CONTEXT_SIZE = 16 };

/* sycl::context sycl::detail::make_context(handle, const std::function &, sycl::backend, bool keepOwnership, const std::vector &) */
void _ZN4sycl3_V16detail12make_contextEmRKSt8functionIFvNS0_14exception_listEEENS0_7backendEbRKSt6vectorINS0_6deviceESaISA_EE(
    DPCTLSyclContextRef result, uint64_t native, const void *handler, int backend, bool keep_ownership, const void *devices);

/* operator new(size_t) and operator delete(void *): DPCTLContext_Delete calls the latter. */
DPCTLSyclContextRef _Znwm(size_t size);
void _ZdlPv(DPCTLSyclContextRef memory);
