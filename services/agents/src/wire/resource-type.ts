import type { ResourceType } from '@commonplace/proto/resources/v1/resource.js';

/** Returns the name of a type as the API writes it: `document`. */
export function typeName(type: ResourceType): string {
  return type.replace('RESOURCE_TYPE_', '').toLowerCase();
}

export const resourceType = (name: string): ResourceType => `RESOURCE_TYPE_${name.toUpperCase()}` as ResourceType;
