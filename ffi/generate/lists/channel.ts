import type { Library } from "../library.ts";

/** The C library's sockets, and what has to be known of a socket's file. */
export const channel: Library = {
  name: "channel",
  interface: "Sockets",
  headers: ["fcntl.h", "sys/socket.h", "sys/stat.h", "sys/un.h", "unistd.h"],
  defines: { _GNU_SOURCE: "" },
  functions: [
    "socket",
    "bind",
    "listen",
    "accept4",
    "connect",
    "sendmsg",
    "recvmsg",
    "getsockopt",
    "fchmod",
    "geteuid",
  ],
  constants: [
    {
      type: "int",
      names: [
        ...[
          "AF_UNIX",
          "SOCK_SEQPACKET",
          "SOCK_DGRAM",
          "SOCK_CLOEXEC",
          "SOCK_NONBLOCK",
          "SOL_SOCKET",
          "SO_PEERCRED",
          "SCM_RIGHTS",
        ],
        ...["MSG_CMSG_CLOEXEC", "MSG_CTRUNC", "MSG_DONTWAIT", "MSG_NOSIGNAL", "MSG_PEEK", "MSG_TRUNC"],
        ...["AT_FDCWD", "AT_SYMLINK_NOFOLLOW", "S_IFDIR", "S_IFSOCK"],
      ],
    },
  ],
  structs: [
    "struct msghdr",
    { type: "struct cmsghdr", fields: ["cmsg_len", "cmsg_level", "cmsg_type"] },
    "struct ucred",
    { type: "struct sockaddr_un", fields: ["sun_family", ["sun_path", "sun_path[0]"]] },
  ],
};
