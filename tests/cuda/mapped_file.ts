import { MAP_SHARED, PROT_READ, PROT_WRITE } from "../../ffi/libc/constants.ts";
import { NULL } from "../../ffi/address.ts";
import { libc } from "../../src/core/native/libc.ts";

const O_RDWR = 2;

/** A file of 4096 bytes that this process has mapped and shares with it. */
export class MappedFile implements Disposable {
  readonly path: string;
  readonly address: typeof NULL;

  constructor(bytes: Uint8Array) {
    this.path = Deno.makeTempFileSync();
    Deno.writeFileSync(this.path, bytes);
    const fd = libc().open(new TextEncoder().encode(`${this.path}\0`), O_RDWR, 0);
    this.address = libc().mmap(NULL, 4096n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0n);
    libc().close(fd);
  }

  [Symbol.dispose](): void {
    libc().munmap(this.address, 4096n);
    Deno.removeSync(this.path);
  }
}
