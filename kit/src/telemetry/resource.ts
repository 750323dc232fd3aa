import { randomUUID } from 'node:crypto';
import { type Resource, resourceFromAttributes } from '@opentelemetry/resources';

const instance = randomUUID();

/** What this process is, as all its signals say. */
export function resourceOf({ service, version }: { readonly service: string; readonly version: string }): Resource {
  return resourceFromAttributes({
    'service.namespace': 'commonplace',
    'service.name': service,
    'service.version': version,
    'service.instance.id': instance,
  });
}
