/**
 * Libraries that no machine here can load.
 *
 * @module
 */

/** A machine that no test runs on. */
export const EM_S390 = 22;

/** The first 64 bytes of a library for a machine (e_machine), and nothing behind them. */
export function elfHeader(machine: number): Uint8Array {
  const bytes = new Uint8Array(64);
  bytes.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]); // ELF, 64 bits, little-endian, version 1
  const header = new DataView(bytes.buffer);
  header.setUint16(16, 3, true); // e_type: ET_DYN
  header.setUint16(18, machine, true);
  header.setUint32(20, 1, true);
  header.setUint16(52, 64, true); // e_ehsize
  return bytes;
}
