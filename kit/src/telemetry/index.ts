export * from './http-client.js';
export * from './http-server.js';
export { type Adder, type Attributes, type AttributeValue, counter, gauge, histogram } from './instruments.js';
export { type OtelSettings, readOtelSettings } from './otel-settings.js';
export { telemetrySettings } from './settings.js';
export { startTelemetry, type Telemetry, type TelemetryOptions } from './start.js';
export {
  continuing,
  continuingAll,
  currentSpan,
  outside,
  readTraceparent,
  type Span,
  type SpanPlace,
  signals,
  type TraceHeaders,
  traceContext,
  traceFields,
  traceHeaders,
  traceparentNow,
  within,
} from './trace.js';
