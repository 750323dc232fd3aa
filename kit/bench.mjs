import { openMongoDatabase } from './dist/src/store/mongo/index.js';
import { openNatsBus } from './dist/src/events/nats/index.js';
import { startRelay } from './dist/src/events/relay.js';
const name='B'+Date.now();
const t=()=>performance.now();
const database = await openMongoDatabase({ url: process.env.COMMONPLACE_MONGODB_URL, databasePrefix: `test_${name}_` });
const bus = await openNatsBus({ url: process.env.COMMONPLACE_NATS_URL, stream: name });
const store=database.store('s'), outbox=database.outbox('s');
const col=await store.collection({name:'r',indexes:[{fields:['tenant','kind','rank']},{fields:['email'],unique:true}]});
const mk=(i)=>({id:'r'+i,tenant:'t',kind:'doc',rank:i,email:'e'+i+'@x.org',name:'Name '+i,createdAt:new Date().toISOString(),tags:['a','b'],body:{blocks:Array.from({length:10},(_, k)=>({type:'p',text:'hello world '+k}))}});
let s=t(); for(let b=0;b<10;b++){const u=store.begin(); for(let i=0;i<200;i++) u.insert(col,mk(b*200+i)); await u.commit();} console.log('insert 2000 in units of 200: rec/s',Math.round(2000/(t()-s)*1000));
for(let i=0;i<500;i++) await col.get('r'+i);
s=t(); for(let i=0;i<3000;i++) await col.get('r'+(i%2000)); console.log('get serial µs', Math.round((t()-s)/3000*1000));
s=t(); await Promise.all(Array.from({length:3000},(_, i)=>col.get('r'+(i%2000)))); console.log('get concurrent/s', Math.round(3000/(t()-s)*1000));
s=t(); for(let i=0;i<300;i++) await col.find({where:{tenant:'t',kind:'doc',rank:{gte:i}},sort:['rank'],limit:50}); console.log('find 50 µs', Math.round((t()-s)/300*1000));
const ev=(n,sub='s'+n%100)=>({specversion:'1.0',id:'e'+name+n,source:'/x',type:'commonplace.x.y.z',subject:sub,time:new Date().toISOString(),datacontenttype:'application/json',data:{n}});
let n=0;
const upd=async(i,withEvent)=>{const u=store.begin(); const r=await u.get(col,'r'+i); u.replace(col,r,{...r,name:'x'+i}); if(withEvent) u.publish(ev(n++)); await u.commit();};
s=t(); for(let i=0;i<300;i++) await upd(i,false); console.log('update serial (no txn)/s', Math.round(300/(t()-s)*1000));
s=t(); for(let i=0;i<300;i++) await upd(i,true); console.log('unit serial (txn+event)/s', Math.round(300/(t()-s)*1000));
s=t(); await Promise.all(Array.from({length:16},async(_, w)=>{for(let i=0;i<100;i++) await upd(w*100+i,true);})); console.log('unit 16 concurrent (txn+event)/s', Math.round(1600/(t()-s)*1000));
s=t(); await Promise.all(Array.from({length:16},async(_, w)=>{for(let i=0;i<25;i++){const u=store.begin(); u.increment(col,'counter','rank',1,{}); u.publish(ev(n++)); await u.commit();}})); console.log('hot increment unit 16 concurrent/s', Math.round(400/(t()-s)*1000));
// relay steps
let a=t(); const p=await outbox.pending(256); let b=t(); const pos=await bus.publishTraced(p); let c=t(); await outbox.published(p,pos); let d=t(); console.log('relay batch 256: read',Math.round(b-a),'publish',Math.round(c-b),'mark',Math.round(d-c),'ms');
const before=(await outbox.backlog()).pending; s=t(); const relay=startRelay({outbox,bus}); while((await outbox.backlog()).pending>0) await new Promise(r=>setTimeout(r,5)); console.log('relay drain', before, 'events/s', Math.round(before/(t()-s)*1000));
// latency commit -> handler
let got; const lat=[]; const sub=await bus.subscribe({consumer:'lat',types:['commonplace.x.y.lat'],from:'now'},async([e])=>got(e));
for(let i=0;i<50;i++){const done=new Promise(r=>{got=r}); const u=store.begin(); u.publish({...ev(1e6+i),type:'commonplace.x.y.lat'}); await u.commit(); const s0=t(); await done; lat.push(t()-s0);} lat.sort((x,y)=>x-y); console.log('commit→handler ms p50', lat[25].toFixed(1), 'p95', lat[47].toFixed(1));
await sub.close(); await relay.close();
// bus
const evs=Array.from({length:5000},(_, i)=>ev(2e6+i,'q'+i)); s=t(); await bus.publish(evs); console.log('publish distinct subjects/s', Math.round(5000/(t()-s)*1000));
s=t(); for(let i=0;i<500;i++) await bus.publish([ev(3e6+i)]); console.log('publish one by one/s', Math.round(500/(t()-s)*1000));
for (const batch of [1,100]) { let k=0; const L=await bus.lag('zz')||0; s=t(); let fin; const f=new Promise(r=>fin=r); const total=7000; const sb=await bus.subscribe({consumer:'cons'+batch,types:['commonplace.>'],batch},async(es)=>{k+=es.length; if(k>=total) fin();}); await f; console.log('consume batch',batch,'events/s', Math.round(k/(t()-s)*1000)); await sb.close(); }
await bus.close(); await database.close();
process.exit(0)
