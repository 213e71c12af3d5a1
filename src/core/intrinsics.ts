/**
 * What JavaScript itself says of buffers and of views of them: a program can give any of them properties of its own.
 *
 * @module
 */

const TypedArray = Object.getPrototypeOf(Uint8Array);

function getter<R>(prototype: object, name: PropertyKey): (self: unknown) => R {
  const get = Object.getOwnPropertyDescriptor(prototype, name)!.get!;
  return (self) => Reflect.apply(get, self, []);
}

const transferIntrinsic = ArrayBuffer.prototype.transfer;

/** True once its memory was moved away. @throws {TypeError} for anything but an ArrayBuffer. */
export const isDetached: (buffer: unknown) => boolean = getter(ArrayBuffer.prototype, "detached");

/** True for a buffer whose length can change. @throws {TypeError} for anything but an ArrayBuffer. */
export const isResizable: (buffer: unknown) => boolean = getter(ArrayBuffer.prototype, "resizable");

export const bufferLength: (buffer: unknown) => number = getter(ArrayBuffer.prototype, "byteLength");

export const bufferOfArray: (array: unknown) => ArrayBuffer = getter(TypedArray.prototype, "buffer");

export const arrayLength: (array: unknown) => number = getter(TypedArray.prototype, "byteLength");

const arrayOffset: (array: unknown) => number = getter(TypedArray.prototype, "byteOffset");
const dataViewBuffer: (view: unknown) => ArrayBuffer = getter(DataView.prototype, "buffer");
const dataViewOffset: (view: unknown) => number = getter(DataView.prototype, "byteOffset");
const dataViewLength: (view: unknown) => number = getter(DataView.prototype, "byteLength");
const keysIntrinsic = TypedArray.prototype.keys;
const tagOf: (view: unknown) => string | undefined = getter(TypedArray.prototype, Symbol.toStringTag);

/** Moves a buffer's memory into a new one. @throws {TypeError} where it cannot be detached. */
export function transfer(buffer: ArrayBuffer, newByteLength?: number): ArrayBuffer {
  return Reflect.apply(transferIntrinsic, buffer, newByteLength === undefined ? [] : [newByteLength]);
}

export function isArrayBuffer(value: unknown): value is ArrayBuffer {
  if (typeof value !== "object" || ArrayBuffer.isView(value)) return false; // to throw takes two microseconds
  try {
    bufferLength(value);
    return true;
  } catch {
    return false;
  }
}

/**
 * Which bytes of which buffer a view shows; undefined where they are gone: its buffer was detached, or has become too
 * short for it. For such a view a DataView throws, and a typed array says that it is empty.
 */
export function bytesOf(
  view: ArrayBufferView,
): { buffer: ArrayBufferLike; byteOffset: number; byteLength: number } | undefined {
  try {
    if (tagOf(view) === undefined) {
      return { buffer: dataViewBuffer(view), byteOffset: dataViewOffset(view), byteLength: dataViewLength(view) };
    }
    const byteLength = arrayLength(view);
    if (byteLength === 0) Reflect.apply(keysIntrinsic, view, []); // throws where it is not empty, but its bytes are gone
    return { buffer: bufferOfArray(view), byteOffset: arrayOffset(view), byteLength };
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}
