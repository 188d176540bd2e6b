"""What a call returns, as LLVM IR: arrays, views, numbers, and containers of them."""

__all__ = ["TEXT"]

TEXT = """
define internal ptr @view(ptr %view, ptr %objects, ptr %bases) #0 {
entry:
  %dtype = get ptr view.dtype %view
  %ndim.wide = get i64 view.ndim %view
  %ndim = trunc i64 %ndim.wide to i32
  %shape = get ptr view.shape %view
  %strides = get ptr view.strides %view
  %offset = get i64 view.offset %view
  %base.number = get i64 view.base %view
  %number = get i64 view.object %view
  %base.at = getelementptr ptr, ptr %bases, i64 %base.number
  %base = load ptr, ptr %base.at
  %data = getelementptr i8, ptr %base, i64 %offset
  %owner.at = getelementptr ptr, ptr %objects, i64 %number
  %owner = load ptr, ptr %owner.at
  call void @Py_IncRef(ptr %dtype)
  %x = call ptr @PyArray_NewFromDescr(ptr @ndarray, ptr %dtype, i32 %ndim, ptr %shape,
    ptr %strides, ptr %data, i32 1024, ptr null)
  %good = icmp ne ptr %x, null
  br i1 %good, label %own, label %failed
own:
  call void @Py_IncRef(ptr %owner)
  %status = call i32 @PyArray_SetBaseObject(ptr %x, ptr %owner)
  %owned = icmp eq i32 %status, 0
  br i1 %owned, label %done, label %discard
discard:
  call void @Py_DecRef(ptr %x)
  br label %failed
done:
  ret ptr %x
failed:
  ret ptr null
}

; A container of the %count objects from %items on, which become its own; null leaves them.
define internal ptr @contain(i64 %kind, i64 %count, ptr %items, ptr %keys) #0 {
entry:
  switch i64 %kind, label %dict [
    i64 {build.tuple}, label %tuple
    i64 {build.list}, label %list
  ]
tuple:
  %new.tuple = call ptr @PyTuple_New(i64 %count)
  br label %made
list:
  %new.list = call ptr @PyList_New(i64 %count)
  br label %made
dict:
  %new.dict = call ptr @PyDict_New()
  br label %made
made:
  %x = phi ptr [ %new.tuple, %tuple ], [ %new.list, %list ], [ %new.dict, %dict ]
  %good = icmp ne ptr %x, null
  br i1 %good, label %each, label %done
each:
  %k = phi i64 [ 0, %made ], [ %k.next, %put ]
  %end = icmp eq i64 %k, %count
  br i1 %end, label %settle, label %next
next:
  %item.at = getelementptr ptr, ptr %items, i64 %k
  %item = load ptr, ptr %item.at
  switch i64 %kind, label %in.dict [
    i64 {build.tuple}, label %in.tuple
    i64 {build.list}, label %in.list
  ]
in.tuple:
  call i32 @PyTuple_SetItem(ptr %x, i64 %k, ptr %item)
  br label %put
in.list:
  call i32 @PyList_SetItem(ptr %x, i64 %k, ptr %item)
  br label %put
in.dict:
  %key.at = getelementptr ptr, ptr %keys, i64 %k
  %key = load ptr, ptr %key.at
  %status = call i32 @PyDict_SetItem(ptr %x, ptr %key, ptr %item)
  %added = icmp eq i32 %status, 0
  br i1 %added, label %put, label %discard
put:
  %k.next = add i64 %k, 1
  br label %each
discard:
  call void @Py_DecRef(ptr %x)
  br label %done
settle:  ; a dict took references of its own
  %is.dict = icmp eq i64 %kind, {build.dict}
  br i1 %is.dict, label %release, label %done
release:
  call void @drop(i64 %count, ptr %items)
  br label %done
done:
  %result = phi ptr [ null, %made ], [ null, %discard ], [ %x, %settle ], [ %x, %release ]
  ret ptr %result
}

; The object that the call returns; null with an exception.
define internal ptr @result(ptr %plan, ptr %objects, ptr %bases, ptr %stack) #0 {
entry:
  %builds = get i64 plan.builds %plan
  %build.0 = get ptr plan.build %plan
  br label %each
each:
  %k = phi i64 [ 0, %entry ], [ %k.next, %push ]
  %top = phi i64 [ 0, %entry ], [ %top.next, %push ]
  %end = icmp eq i64 %k, %builds
  br i1 %end, label %done, label %build
build:
  %k.next = add i64 %k, 1
  %k.word = mul i64 %k, {size.build}
  %record = getelementptr i64, ptr %build.0, i64 %k.word
  %kind = get i64 build.kind %record
  %a = get i64 build.a %record
  %b = get i64 build.b %record
  %c = get ptr build.c %record
  %is.container = icmp uge i64 %kind, {build.tuple}
  br i1 %is.container, label %container, label %one
container:
  %bottom = sub i64 %top, %a
  %items = getelementptr ptr, ptr %stack, i64 %bottom
  %contained = call ptr @contain(i64 %kind, i64 %a, ptr %items, ptr %c)
  br label %made
one:
  %base.at = getelementptr ptr, ptr %bases, i64 %a
  %object.at = getelementptr ptr, ptr %objects, i64 %a
  switch i64 %kind, label %object [
    i64 {build.held}, label %held
    i64 {build.view}, label %view
    i64 {build.scalar}, label %scalar
    i64 {build.float}, label %float
    i64 {build.integer}, label %integer
    i64 {build.complex}, label %complex
  ]
object:
  call void @Py_IncRef(ptr %c)
  br label %made
held:
  %held.object = load ptr, ptr %object.at
  call void @Py_IncRef(ptr %held.object)
  br label %made
view:
  %new.view = call ptr @view(ptr %c, ptr %objects, ptr %bases)
  br label %made
scalar:
  %scalar.base = load ptr, ptr %base.at
  %scalar.at = getelementptr i8, ptr %scalar.base, i64 %b
  %new.scalar = call ptr @PyArray_Scalar(ptr %scalar.at, ptr %c, ptr null)
  br label %made
float:
  %float.base = load ptr, ptr %base.at
  %float.at = getelementptr i8, ptr %float.base, i64 %b
  %float.value = load double, ptr %float.at
  %new.float = call ptr @PyFloat_FromDouble(double %float.value)
  br label %made
integer:
  %integer.base = load ptr, ptr %base.at
  %integer.at = getelementptr i8, ptr %integer.base, i64 %b
  %integer.value = load i64, ptr %integer.at
  %new.integer = call ptr @PyLong_FromLongLong(i64 %integer.value)
  br label %made
complex:
  %complex.base = load ptr, ptr %base.at
  %real.at = getelementptr i8, ptr %complex.base, i64 %b
  %imaginary.at = getelementptr i8, ptr %real.at, i64 8
  %real = load double, ptr %real.at
  %imaginary = load double, ptr %imaginary.at
  %new.complex = call ptr @PyComplex_FromDoubles(double %real, double %imaginary)
  br label %made
made:
  %x = phi ptr
    [ %contained, %container ],
    [ %c, %object ],
    [ %held.object, %held ],
    [ %new.view, %view ],
    [ %new.scalar, %scalar ],
    [ %new.float, %float ],
    [ %new.integer, %integer ],
    [ %new.complex, %complex ]
  %place = phi i64
    [ %bottom, %container ],
    [ %top, %object ],
    [ %top, %held ],
    [ %top, %view ],
    [ %top, %scalar ],
    [ %top, %float ],
    [ %top, %integer ],
    [ %top, %complex ]
  %good = icmp ne ptr %x, null
  br i1 %good, label %push, label %failed
push:
  %at = getelementptr ptr, ptr %stack, i64 %place
  store ptr %x, ptr %at
  %top.next = add i64 %place, 1
  br label %each
failed:
  call void @drop(i64 %top, ptr %stack)
  ret ptr null
done:
  %whole = load ptr, ptr %stack
  ret ptr %whole
}

; Give up %count references; null is none.
define internal void @drop(i64 %count, ptr %objects) #0 {
entry:
  br label %each
each:
  %k = phi i64 [ 0, %entry ], [ %k.next, %one ]
  %end = icmp eq i64 %k, %count
  br i1 %end, label %done, label %one
one:
  %k.next = add i64 %k, 1
  %at = getelementptr ptr, ptr %objects, i64 %k
  %x = load ptr, ptr %at
  call void @Py_DecRef(ptr %x)
  br label %each
done:
  ret void
}
"""
