import { enumName } from '@commonplace/platform/enums';
import type { ResourceType } from '@commonplace/proto/resources/v1/resource.js';

/** Returns the name of a resource type in the API, such as `document`. */
export function typeName(type: ResourceType): string {
  return enumName(type, 'RESOURCE_TYPE');
}

export const resourceType = (name: string): ResourceType => `RESOURCE_TYPE_${name.toUpperCase()}` as ResourceType;
