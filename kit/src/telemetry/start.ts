import type { Values } from '../config/index.js';
import type { Log } from '../log/index.js';
import type { OtelSettings } from './otel-settings.js';
import { observeProcess } from './process.js';
import type { telemetrySettings } from './settings.js';
import { pageOf, sendsMetrics, sendsTraces } from './targets.js';
import { signals } from './trace.js';

export interface TelemetryOptions extends Values<typeof telemetrySettings> {
  /** Name of the service of this process; `commonplace` for a process that runs all services. */
  readonly service: string;
  readonly version: string;
  readonly log: Log;
  /** Variables of OpenTelemetry, by `readOtelSettings`. */
  readonly otel: OtelSettings;
}

export interface Telemetry {
  /** Port that serves metrics; absent if there is none. */
  readonly metricsPort: number | undefined;
  /** Sends the remaining data for up to a few seconds, and stops. */
  close(): Promise<void>;
}

const off: Telemetry = { metricsPort: undefined, close: async () => {} };

/**
 * Starts the telemetry that the settings require. OpenTelemetry is only loaded if they do: it takes a quarter of a
 * second and 20 MB.
 */
export async function startTelemetry(options: TelemetryOptions): Promise<Telemetry> {
  const { otel, log } = options;
  if (otel.ignored.length > 0) log.warn('telemetry.variables_ignored', { variables: otel.ignored.join() });
  const sends = { traces: sendsTraces(options), metrics: sendsMetrics(options) };
  if (otel.disabled || (!sends.traces && !sends.metrics && pageOf(options) === undefined)) return off;
  const { openMetrics } = await import('./metrics-sdk.js');
  const metrics = await openMetrics(options);
  const endProcess = observeProcess();
  signals.measuring = sends.metrics || metrics.port !== undefined;
  const tracing = sends.traces ? (await import('./trace-sdk.js')).openTracing(options) : undefined;
  signals.tracer = tracing?.tracer;
  signals.propagating = otel.tracecontext;
  const { registerGlobalApi } = await import('./global-api.js');
  const unregister = registerGlobalApi(otel, metrics.provider);
  log.info('telemetry.started', { otlp: sends.traces || sends.metrics, metrics_port: metrics.port });
  return {
    metricsPort: metrics.port,
    close: async () => {
      signals.measuring = false;
      signals.tracer = undefined;
      signals.propagating = true;
      unregister();
      endProcess();
      await Promise.all([metrics.close(), tracing?.close()]);
    },
  };
}
