import { randomUUID } from 'node:crypto';
import { type Resource, resourceFromAttributes } from '@opentelemetry/resources';

const instance = randomUUID();

/** Returns the resource that identifies this process in all its signals. */
export function resourceOf({ service, version }: { readonly service: string; readonly version: string }): Resource {
  return resourceFromAttributes({
    'service.namespace': 'commonplace',
    'service.name': service,
    'service.version': version,
    'service.instance.id': instance,
  });
}
