/** A signal that is aborted as soon as something listens to it: a run that has begun is not over by then. */
export function stopping(): AbortSignal {
  const abort = new AbortController();
  const { signal } = abort;
  signal.addEventListener = (...given: Parameters<AbortSignal["addEventListener"]>) => {
    EventTarget.prototype.addEventListener.apply(signal, given);
    abort.abort();
  };
  return signal;
}
