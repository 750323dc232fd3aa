import { CALL_SECONDS } from './buckets.js';
import { histogram } from './instruments.js';
import { childSpan, failureOf, signals, traceHeaders } from './trace.js';

const durations = histogram(
  'http.client.request.duration',
  's',
  'Duration of requests to servers elsewhere.',
  CALL_SECONDS,
);

/**
 * Observes a request to another server. Metrics contain only its method and outcome: hosts are entered by users, and
 * appear only on spans. `send` receives the headers that propagate the trace, if there is one.
 */
export async function observeRequest<T extends { readonly statusCode: number }>(
  method: string,
  host: string,
  send: (headers: Readonly<Record<string, string>>) => Promise<T>,
): Promise<T> {
  if (!signals.measuring && signals.tracer === undefined) return send({});
  const started = performance.now();
  const about = { 'http.request.method': method };
  const span = childSpan(method, 'client', { ...about, 'server.address': host });
  const done = (outcome: Readonly<Record<string, string | number>>) => {
    if (signals.measuring) durations.bind({ ...about, ...outcome }).record((performance.now() - started) / 1000);
  };
  try {
    const answer = await send(span === undefined || !signals.propagating ? {} : { ...traceHeaders(span.traceparent) });
    done({ 'http.response.status_code': answer.statusCode });
    span?.set('http.response.status_code', answer.statusCode);
    span?.end(answer.statusCode >= 400 ? String(answer.statusCode) : undefined);
    return answer;
  } catch (error) {
    const failure = failureOf(error);
    done({ 'error.type': failure });
    span?.end(failure);
    throw error;
  }
}
