import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import type { UnitOfWork } from '@commonplace/kit/store';

/** What an event of a call has, for work that no call is behind. */
export function publishing(work: UnitOfWork): Pick<CallContext, 'work' | 'event'> {
  return {
    work,
    event: (type, subject, data, tenant) => ({
      specversion: '1.0',
      id: `evt_${newId()}`,
      source: '/tenancy',
      type: `commonplace.tenancy.${type}`,
      subject,
      time: new Date().toISOString(),
      datacontenttype: 'application/json',
      data,
      ...(tenant === undefined ? {} : { tenant }),
      actor: { type: 'system', id: 'tenancy', name: 'tenancy' },
    }),
  };
}
