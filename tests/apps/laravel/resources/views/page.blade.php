<h1>{{ $title }}</h1>
@isset($leak)<p>leaked: {{ $leak }}</p>@endisset
@foreach ($items as $item)<li>{{ $item }}</li>@endforeach
