/** The lines of a stream, as they come, without what ends them. */
export async function* linesOf(stream: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string, void> {
  let text = "";
  for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (text + chunk).split("\n");
    text = lines.pop()!;
    yield* lines;
  }
  if (text !== "") yield text;
}
