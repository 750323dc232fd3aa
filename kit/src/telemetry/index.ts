export { CALL_SECONDS, STORE_SECONDS } from './buckets.js';
export * from './http-client.js';
export * from './http-server.js';
export {
  type Adder,
  type Attributes,
  type AttributeValue,
  counter,
  gather,
  gauge,
  histogram,
  type NumberPoint,
  type Recorder,
} from './instruments.js';
export { type OtelSettings, readOtelSettings } from './otel-settings.js';
export { telemetrySettings } from './settings.js';
export { startTelemetry, type Telemetry, type TelemetryOptions } from './start.js';
export {
  childSpan,
  continuedSpan,
  continuing,
  continuingAll,
  currentSpan,
  currentTraceFields,
  failureOf,
  outside,
  readTraceparent,
  type Span,
  type SpanPlace,
  signals,
  traceContext,
  traceFields,
  traceHeaders,
  traceparentNow,
  within,
} from './trace.js';
