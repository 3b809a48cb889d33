/* SPDX-License-Identifier: BSL-1.0 */
/* A library that is preloaded before an MPI program, and changes what bough sees of the system:
   PRETEND_VERSION=TEXT: the MPI says that it is this one. PRETEND_NO_MEMORY_FILES=1: the kernel has no memfd.
   PRETEND_NO_VOTES=1: the MPI's allreduce of MPI_UINT32_T by MPI_MAX, by which ranks of bough agree, has an error.
   PRETEND_WRONG_SUM=1: its allreduce of MPI_DOUBLE by MPI_SUM is wrong by a billionth. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int PMPI_Get_library_version(char* version, int* length) {
    const char* said = getenv("PRETEND_VERSION");
    int (*real)(char*, int*) = NULL;
    if (said != NULL) {
        strcpy(version, said);
        *length = (int)strlen(said);
        return 0;
    }
    *(void**)&real = dlsym(RTLD_NEXT, "PMPI_Get_library_version");
    return real(version, length);
}

int PMPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    int (*real)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm) = NULL;
    if (getenv("PRETEND_NO_VOTES") != NULL && type == MPI_UINT32_T && op == MPI_MAX) return MPI_ERR_OTHER;
    *(void**)&real = dlsym(RTLD_NEXT, "PMPI_Allreduce");
    const int code = real(in, out, count, type, op, comm);
    if (getenv("PRETEND_WRONG_SUM") != NULL && type == MPI_DOUBLE && op == MPI_SUM) *(double*)out *= 1 + 1e-9;
    return code;
}

int memfd_create(const char* name, unsigned flags) {
    int (*real)(const char*, unsigned) = NULL;
    if (getenv("PRETEND_NO_MEMORY_FILES") != NULL) {
        errno = ENOSYS;
        return -1;
    }
    *(void**)&real = dlsym(RTLD_NEXT, "memfd_create");
    return real(name, flags);
}
