import { randomUUID } from 'node:crypto';
import { type Resource, resourceFromAttributes } from '@opentelemetry/resources';
import type { TelemetryOptions } from './start.js';

const instance = randomUUID();

/** Returns the resource that identifies this process in all its signals, with the attributes that the environment adds. */
export function resourceOf({
  service,
  version,
  otel,
}: Pick<TelemetryOptions, 'service' | 'version' | 'otel'>): Resource {
  return resourceFromAttributes({
    'service.namespace': 'commonplace',
    'service.name': service,
    'service.version': version,
    'service.instance.id': instance,
    ...otel.attributes,
  });
}
