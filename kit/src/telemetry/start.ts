import type { Values } from '../config/index.js';
import type { Log } from '../log/index.js';
import { observeProcess } from './process.js';
import type { telemetrySettings } from './settings.js';
import { signals } from './trace.js';

export interface TelemetryOptions extends Values<typeof telemetrySettings> {
  /** Name of the service of this process; `commonplace` for a process that runs all services. */
  readonly service: string;
  readonly version: string;
  readonly log: Log;
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
  if (options.otlpUrl === undefined && options.metricsPort === undefined) return off;
  const { openMetrics } = await import('./metrics-sdk.js');
  const metrics = await openMetrics(options);
  const endProcess = observeProcess();
  signals.measuring = true;
  const { otlpUrl } = options;
  const tracing = otlpUrl === undefined ? undefined : (await import('./trace-sdk.js')).openTracing(otlpUrl, options);
  signals.tracer = tracing?.tracer;
  options.log.info('telemetry.started', { otlp: otlpUrl !== undefined, metrics_port: metrics.port });
  return {
    metricsPort: metrics.port,
    close: async () => {
      signals.measuring = false;
      signals.tracer = undefined;
      endProcess();
      await Promise.all([metrics.close(), tracing?.close()]);
    },
  };
}
