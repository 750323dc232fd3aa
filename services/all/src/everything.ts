import { agents } from '@commonplace/agents';
import { automations } from '@commonplace/automations';
import { files } from '@commonplace/files';
import { gateway } from '@commonplace/gateway';
import { identity } from '@commonplace/identity';
import { messaging } from '@commonplace/messaging';
import type { ServiceModule } from '@commonplace/platform/runtime';
import { resources } from '@commonplace/resources';
import { search } from '@commonplace/search';
import { tenancy } from '@commonplace/tenancy';
import { welcome } from './welcome.js';

/** All service modules in start order: the gateway after the services, and the bootstrap after the gateway. */
export const everything: readonly ServiceModule[] = [
  identity,
  tenancy,
  resources,
  files,
  search,
  messaging,
  agents,
  automations,
  gateway,
  welcome,
];
